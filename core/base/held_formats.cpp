#include "core/base/held_formats.h"

#include <array>
#include <cstring>

#include "core/base/block_bytes.h"

namespace locus::blocks {

namespace {

constexpr std::array<float, 16> kNormalFloats{
    -1.0F,
    -0.6961928009986877F,
    -0.5250730514526367F,
    -0.39491748809814453F,
    -0.28444138169288635F,
    -0.18477343022823334F,
    -0.09105003625154495F,
    0.0F,
    0.07958029955625534F,
    0.16093020141124725F,
    0.24611230194568634F,
    0.33791524171829224F,
    0.44070982933044434F,
    0.5626170039176941F,
    0.7229568362236023F,
    1.0F,
};
constexpr std::array<float, 16> kCodedFloats{0.0F,       0.0625F / 12, 8.0F / 12,  1.0F,          4.0F / 12,  0.5F,
                                             2.0F / 12,  0.25F,        0.0F,       -0.0625F / 12, -8.0F / 12, -1.0F,
                                             -4.0F / 12, -0.5F,        -2.0F / 12, -0.25F};

float float_at(const std::byte* block, std::size_t at) {
  float value = 0;
  std::memcpy(&value, block + at, sizeof value);
  return value;
}
// values[n] = each(q of number n), four bits each.
template <std::size_t kElements, class Each>
void expand_nibbles(const std::uint8_t* bytes, float* values, const Each& each) {
  for (std::size_t group = 0; group < kElements; group += 32, bytes += 16) {
    for (std::size_t n = 0; n < 16; ++n) {
      values[group + n] = each(bytes[n] & 15);
      values[group + n + 16] = each(bytes[n] >> 4);
    }
  }
}

template <std::size_t kElements>
void expand_scaled_int8(const std::byte* block, float* values) {
  const float d = float_at(block, 0);
  std::int16_t zero = 0;
  std::memcpy(&zero, block + 4, sizeof zero);
  const std::uint8_t* const bytes = bytes_of(block, 6);
  for (std::size_t n = 0; n < kElements; ++n) {
    values[n] = static_cast<float>(bytes[n] - zero) * d;
  }
}
template <std::size_t kElements>
void expand_affine_int4(const std::byte* block, float* values) {
  const float d = float_at(block, 0);
  const float m = float_at(block, 4);
  expand_nibbles<kElements>(bytes_of(block, 8), values, [=](int q) { return static_cast<float>(q) * d + m; });
}
template <std::size_t kElements>
void expand_affine_int8(const std::byte* block, float* values) {
  const float d = float_at(block, 0);
  const float m = float_at(block, 4);
  const std::uint8_t* const bytes = bytes_of(block, 8);
  for (std::size_t n = 0; n < kElements; ++n) {
    values[n] = static_cast<float>(bytes[n]) * d + m;
  }
}
template <const std::array<float, 16>& kCode>
void expand_coded(const std::byte* block, float* values) {
  const float d = float_at(block, 0);
  expand_nibbles<64>(bytes_of(block, 4), values, [=](int q) { return kCode[static_cast<std::size_t>(q)] * d; });
}

constexpr std::array<Format, 3> kScaledInt8{{{"INT8", kInNoFile, 38, 32, 1, expand_scaled_int8<32>},
                                             {"INT8", kInNoFile, 70, 64, 1, expand_scaled_int8<64>},
                                             {"INT8", kInNoFile, 134, 128, 1, expand_scaled_int8<128>}}};
constexpr std::array<Format, 3> kAffineInt4{{{"INT4+", kInNoFile, 24, 32, 1, expand_affine_int4<32>},
                                             {"INT4+", kInNoFile, 40, 64, 1, expand_affine_int4<64>},
                                             {"INT4+", kInNoFile, 72, 128, 1, expand_affine_int4<128>}}};
constexpr std::array<Format, 3> kAffineInt8{{{"INT8+", kInNoFile, 40, 32, 1, expand_affine_int8<32>},
                                             {"INT8+", kInNoFile, 72, 64, 1, expand_affine_int8<64>},
                                             {"INT8+", kInNoFile, 136, 128, 1, expand_affine_int8<128>}}};
constexpr Format kNormalFloat4{"NF4", kInNoFile, 36, 64, 1, expand_coded<kNormalFloats>};
constexpr Format kCodedFloat4{"FP4", kInNoFile, 36, 64, 1, expand_coded<kCodedFloats>};

const Format& of_elements(const std::array<Format, 3>& formats, std::int64_t elements) {
  return elements == 128 ? formats[2] : elements == 64 ? formats[1] : formats[0];
}

}  // namespace

const Format& scaled_int8(std::int64_t elements) {
  return of_elements(kScaledInt8, elements);
}
const Format& affine_int4(std::int64_t elements) {
  return of_elements(kAffineInt4, elements);
}
const Format& affine_int8(std::int64_t elements) {
  return of_elements(kAffineInt8, elements);
}
const Format& normal_float4() {
  return kNormalFloat4;
}
const Format& coded_float4() {
  return kCodedFloat4;
}
const float* code_of(const Format& format) {
  return format.name == kNormalFloat4.name ? kNormalFloats.data() : kCodedFloats.data();
}

}  // namespace locus::blocks
