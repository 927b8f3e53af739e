#include "models/checkpoint/convert.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

namespace locus::checkpoint {
namespace {

// The value of a half as IEEE 754 defines it, in float64.
double half_by_definition(std::uint32_t bits) {
  const double sign = (bits & 0x8000U) != 0 ? -1 : 1;
  const int exponent = static_cast<int>((bits >> 10U) & 0x1FU);
  const int mantissa = static_cast<int>(bits & 0x3FFU);
  if (exponent == 31) {
    return mantissa == 0 ? sign * INFINITY : NAN;
  }
  return exponent == 0 ? sign * std::ldexp(mantissa, -24) : sign * std::ldexp(1024 + mantissa, exponent - 25);
}

template <class T>
TensorInfo tensor_of(DType dtype, const std::vector<T>& values, std::vector<std::int64_t> shape,
                     std::vector<std::int64_t> strides, std::int64_t offset = 0) {
  return {"t", dtype, std::move(shape), std::move(strides), offset, std::as_bytes(std::span(values)), {}};
}

std::vector<float> floats(const TensorInfo& tensor) {
  std::vector<float> out(static_cast<std::size_t>(tensor.elements()));
  EXPECT_TRUE(to_float(tensor, out).ok());
  return out;
}

TEST(Convert, AllHalves) {
  std::vector<std::uint16_t> all(65536);
  std::iota(all.begin(), all.end(), std::uint16_t{0});
  const std::vector<float> found = floats(tensor_of(DType::kF16, all, {65536}, {1}));
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const double expected = half_by_definition(bits);
    if (std::isnan(expected)) {
      // The payload moves to the mantissa's high bits, the sign stays.
      ASSERT_EQ(std::bit_cast<std::uint32_t>(found[bits]),
                ((bits & 0x8000U) << 16U) | 0x7F800000U | ((bits & 0x3FFU) << 13U));
      continue;
    }
    ASSERT_EQ(std::bit_cast<std::uint32_t>(found[bits]), std::bit_cast<std::uint32_t>(static_cast<float>(expected)))
        << bits;
  }
}

TEST(Convert, AllBfloat16) {
  std::vector<std::uint16_t> all(65536);
  std::iota(all.begin(), all.end(), std::uint16_t{0});
  const std::vector<float> found = floats(tensor_of(DType::kBF16, all, {65536}, {1}));
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(found[bits]), bits << 16U);
  }
}

TEST(Convert, OtherNumbers) {
  EXPECT_EQ(floats(tensor_of(DType::kF64, std::vector<double>{1.0 / 3, -2e300}, {2}, {1})),
            (std::vector<float>{1.0F / 3, -INFINITY}));
  EXPECT_EQ(floats(tensor_of(DType::kF32, std::vector<float>{0.5F, 2}, {2}, {1})), (std::vector<float>{0.5F, 2}));
  EXPECT_EQ(floats(tensor_of(DType::kI64, std::vector<std::int64_t>{-3, 1LL << 40}, {2}, {1})),
            (std::vector<float>{-3, 0x1p40F}));
  EXPECT_EQ(floats(tensor_of(DType::kI32, std::vector<std::int32_t>{-3}, {1}, {1})), (std::vector<float>{-3}));
  EXPECT_EQ(floats(tensor_of(DType::kI16, std::vector<std::int16_t>{-3}, {1}, {1})), (std::vector<float>{-3}));
  EXPECT_EQ(floats(tensor_of(DType::kI8, std::vector<std::int8_t>{-3}, {1}, {1})), (std::vector<float>{-3}));
  EXPECT_EQ(floats(tensor_of(DType::kU8, std::vector<std::uint8_t>{253}, {1}, {1})), (std::vector<float>{253}));
  EXPECT_EQ(floats(tensor_of(DType::kBool, std::vector<std::uint8_t>{0, 7}, {2}, {1})), (std::vector<float>{0, 1}));
}

TEST(Convert, StridedViews) {
  std::vector<float> values(24);
  std::iota(values.begin(), values.end(), 0.0F);
  // The transpose of [2, 3] in the middle of the storage.
  EXPECT_EQ(floats(tensor_of(DType::kF32, values, {3, 2}, {1, 3}, 6)), (std::vector<float>{6, 9, 7, 10, 8, 11}));
  // A slice of columns: rows side by side, distances between them.
  EXPECT_EQ(floats(tensor_of(DType::kF32, values, {2, 2, 2}, {12, 4, 1}, 1)),
            (std::vector<float>{1, 2, 5, 6, 13, 14, 17, 18}));
  // An expanded dimension repeats its elements.
  EXPECT_EQ(floats(tensor_of(DType::kF32, values, {2, 2}, {0, 5}, 2)), (std::vector<float>{2, 7, 2, 7}));
  EXPECT_EQ(floats(tensor_of(DType::kF32, values, {}, {}, 23)), (std::vector<float>{23}));
  EXPECT_TRUE(floats(tensor_of(DType::kF32, values, {3, 0}, {7, 9})).empty());
  std::vector<float> bytes(6);
  ASSERT_TRUE(
      to_bytes(tensor_of(DType::kF32, values, {3, 2}, {1, 3}, 6), std::as_writable_bytes(std::span(bytes))).ok());
  EXPECT_EQ(bytes, (std::vector<float>{6, 9, 7, 10, 8, 11}));
}

TEST(Convert, UnalignedStorage) {
  const std::vector<float> values{1.5F, -2.5F};
  std::vector<std::byte> shifted(9);
  std::memcpy(shifted.data() + 1, values.data(), 8);
  TensorInfo tensor = tensor_of(DType::kF32, values, {2}, {1});
  tensor.storage = std::span(shifted).subspan(1);
  EXPECT_EQ(floats(tensor), values);
}

TEST(Convert, RefusesABufferOfAnotherSize) {
  const std::vector<float> values{1, 2};
  std::vector<float> out(3);
  const TensorInfo tensor = tensor_of(DType::kF32, values, {2}, {1});
  EXPECT_FALSE(to_float(tensor, out).ok());
  EXPECT_FALSE(to_bytes(tensor, std::as_writable_bytes(std::span(out))).ok());
}

}  // namespace
}  // namespace locus::checkpoint
