#include "models/checkpoint/convert.h"

#include <bit>
#include <cstring>
#include <string>
#include <vector>

// The vectoriser's choice per machine: 8 floats at a time where the processor has them, without an illegal instruction
// where it has not. Sanitizers and clang 14 do not take the attribute together with their own resolvers.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define LOCUS_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define LOCUS_CLONES
#endif

namespace locus::checkpoint {

namespace {

// Branch-free, so that the loops below become vector code. A half's exponent and mantissa, moved to a float's places,
// are 2^112 too small; multiplying by 2^112 rescales them exactly, subnormals included. Infinity and NaN (all exponent
// bits set) get the float's whole exponent instead.
inline float half_value(std::uint32_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16U;
  const std::uint32_t magnitude = (bits & 0x7FFFU) << 13U;
  const std::uint32_t finite = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112F);
  const std::uint32_t special = 0U - static_cast<std::uint32_t>(magnitude >= 0x0F800000U);
  return std::bit_cast<float>(sign | (finite & ~special) | ((magnitude | 0x7F800000U) & special));
}

inline float bfloat16_value(std::uint32_t bits) {
  return std::bit_cast<float>(bits << 16U);
}

template <class T>
inline T load(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));  // storages may be unaligned
  return value;
}

LOCUS_CLONES void halves(const std::byte* from, std::size_t count, float* to) {
  for (std::size_t n = 0; n < count; ++n) {
    to[n] = half_value(load<std::uint16_t>(from + 2 * n));
  }
}

LOCUS_CLONES void bfloat16s(const std::byte* from, std::size_t count, float* to) {
  for (std::size_t n = 0; n < count; ++n) {
    to[n] = bfloat16_value(load<std::uint16_t>(from + 2 * n));
  }
}

LOCUS_CLONES void doubles(const std::byte* from, std::size_t count, float* to) {
  for (std::size_t n = 0; n < count; ++n) {
    to[n] = static_cast<float>(load<double>(from + 8 * n));
  }
}

template <class T>
void numbers(const std::byte* from, std::size_t count, float* to) {
  for (std::size_t n = 0; n < count; ++n) {
    to[n] = static_cast<float>(load<T>(from + sizeof(T) * n));
  }
}

// `count` elements side by side.
void row(DType dtype, const std::byte* from, std::size_t count, float* to) {
  switch (dtype) {
    case DType::kF64:
      return doubles(from, count, to);
    case DType::kF32:
      if (count > 0) {
        std::memcpy(to, from, 4 * count);
      }
      return;
    case DType::kF16:
      return halves(from, count, to);
    case DType::kBF16:
      return bfloat16s(from, count, to);
    case DType::kI64:
      return numbers<std::int64_t>(from, count, to);
    case DType::kI32:
      return numbers<std::int32_t>(from, count, to);
    case DType::kI16:
      return numbers<std::int16_t>(from, count, to);
    case DType::kI8:
      return numbers<std::int8_t>(from, count, to);
    case DType::kU8:
      return numbers<std::uint8_t>(from, count, to);
    case DType::kBool:
      for (std::size_t n = 0; n < count; ++n) {
        to[n] = from[n] == std::byte{0} ? 0.0F : 1.0F;
      }
      return;
  }
}

// Calls visit(first element's offset, distance of the elements, their number) for each row of a strided tensor, in
// row-major order.
template <class Visit>
void for_rows(const TensorInfo& tensor, std::int64_t count, const Visit& visit) {
  if (count == 0) {
    return;
  }
  if (tensor.contiguous()) {
    return visit(tensor.offset, std::int64_t{1}, count);
  }
  const std::size_t last = tensor.shape.size() - 1;
  std::vector<std::int64_t> index(tensor.shape.size(), 0);
  std::int64_t offset = tensor.offset;
  for (std::int64_t done = 0; done < count; done += tensor.shape[last]) {
    visit(offset, tensor.strides[last], tensor.shape[last]);
    for (std::size_t n = last; n-- > 0;) {
      offset += tensor.strides[n];
      if (++index[n] < tensor.shape[n]) {
        break;
      }
      offset -= tensor.strides[n] * tensor.shape[n];
      index[n] = 0;
    }
  }
}

}  // namespace

Status to_float(const TensorInfo& tensor, std::span<float> out) {
  const std::int64_t count = tensor.elements();
  if (out.size() != static_cast<std::size_t>(count)) {
    return internal("tensor " + tensor.name + ": expected room for " + std::to_string(count) + " numbers, found " +
                    std::to_string(out.size()));
  }
  const auto width = static_cast<std::int64_t>(element_size(tensor.dtype));
  float* to = out.data();
  for_rows(tensor, count, [&](std::int64_t offset, std::int64_t step, std::int64_t length) {
    const std::byte* from = tensor.storage.data() + offset * width;
    if (step == 1) {
      row(tensor.dtype, from, static_cast<std::size_t>(length), to);
      to += length;
      return;
    }
    for (std::int64_t n = 0; n < length; ++n) {
      row(tensor.dtype, from + n * step * width, 1, to++);
    }
  });
  return {};
}

Status to_bytes(const TensorInfo& tensor, std::span<std::byte> out) {
  const std::int64_t count = tensor.elements();
  const auto width = static_cast<std::int64_t>(element_size(tensor.dtype));
  if (out.size() != static_cast<std::size_t>(count * width)) {
    return internal("tensor " + tensor.name + ": expected room for " + std::to_string(count * width) +
                    " bytes, found " + std::to_string(out.size()));
  }
  std::byte* to = out.data();
  for_rows(tensor, count, [&](std::int64_t offset, std::int64_t step, std::int64_t length) {
    const std::byte* from = tensor.storage.data() + offset * width;
    const std::int64_t piece = step == 1 ? length * width : width;
    for (std::int64_t n = 0; n < (step == 1 ? 1 : length); ++n) {
      std::memcpy(to, from + n * step * width, static_cast<std::size_t>(piece));
      to += piece;
    }
  });
  return {};
}

}  // namespace locus::checkpoint
