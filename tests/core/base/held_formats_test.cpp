#include "core/base/held_formats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

namespace locus::blocks {
namespace {

constexpr float kScale = 0.3F;
constexpr float kLeast = -1.7F;

// A block with this head, number n of which is q(n).
template <class Number>
std::vector<float> expanded(const Format& format, const std::vector<std::byte>& head, bool four, const Number& q) {
  EXPECT_EQ(format.bytes, static_cast<std::int64_t>(head.size()) + format.elements / (four ? 2 : 1));
  std::vector<std::byte> block = head;
  block.resize(static_cast<std::size_t>(format.bytes));
  for (std::int64_t n = 0; n < format.elements; ++n) {
    const auto number = static_cast<std::byte>(q(n));
    std::byte& place = block.at(head.size() + static_cast<std::size_t>(four ? n / 32 * 16 + n % 16 : n));
    place |= four && n % 32 >= 16 ? number << 4 : number;
  }
  std::vector<float> values(static_cast<std::size_t>(format.elements));
  format.expand(block.data(), values.data());
  return values;
}

template <class T>
void append(std::vector<std::byte>& head, T value) {
  head.resize(head.size() + sizeof value);
  std::memcpy(head.data() + head.size() - sizeof value, &value, sizeof value);
}

TEST(HeldFormats, ExpandNumbersByTheirDefinition) {
  const auto eight = [](std::int64_t n) { return n * 37 % 256; };
  const auto four = [](std::int64_t n) { return n * 7 % 16; };
  for (const std::int64_t elements : {32, 64, 128}) {
    std::vector<std::byte> head;
    append(head, kScale);
    std::vector<std::byte> scaled = head;
    append(scaled, std::int16_t{-3});
    append(head, kLeast);
    const std::vector<float> with_zero = expanded(scaled_int8(elements), scaled, false, eight);
    const std::vector<float> wide = expanded(affine_int8(elements), head, false, eight);
    const std::vector<float> narrow = expanded(affine_int4(elements), head, true, four);
    for (std::int64_t n = 0; n < elements; ++n) {
      const auto at = static_cast<std::size_t>(n);
      EXPECT_EQ(with_zero[at], static_cast<float>(eight(n) + 3) * kScale);
      const float product = static_cast<float>(eight(n)) * kScale;
      EXPECT_EQ(wide[at], product + kLeast);
      const float other = static_cast<float>(four(n)) * kScale;
      EXPECT_EQ(narrow[at], other + kLeast);
    }
  }
}

TEST(HeldFormats, ExpandCodes) {
  std::vector<std::byte> head;
  append(head, kScale);
  const auto four = [](std::int64_t n) { return n % 16; };
  for (const Format* const format : {&normal_float4(), &coded_float4()}) {
    const std::vector<float> values = expanded(*format, head, true, four);
    for (std::size_t n = 0; n < values.size(); ++n) {
      EXPECT_EQ(values[n], code_of(*format)[n % 16] * kScale);
    }
  }
  EXPECT_EQ(code_of(normal_float4())[15], 1);
  EXPECT_EQ(code_of(coded_float4())[3], 1);
  EXPECT_FALSE(std::signbit(code_of(coded_float4())[8]));  // 0 is there twice
}

}  // namespace
}  // namespace locus::blocks
