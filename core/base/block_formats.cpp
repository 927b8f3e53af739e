#include "core/base/block_formats.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/base/block_bytes.h"
#include "core/base/block_grids.h"
#include "core/base/block_packing.h"
#include "core/base/block_tables.h"
#include "core/base/checked.h"

namespace locus::blocks {

namespace {

int signed_at(const std::byte* block, std::size_t at) {
  return static_cast<std::int8_t>(byte_at(block, at));
}

void expand_f32(const std::byte* block, float* values) {
  std::memcpy(values, block, sizeof *values);
}
void expand_f16(const std::byte* block, float* values) {
  *values = half_at(block, 0);
}
void expand_bf16(const std::byte* block, float* values) {
  *values = std::bit_cast<float>(static_cast<std::uint32_t>(word_at(block, 0)) << 16U);
}

void expand_q8_0(const std::byte* block, float* values) {
  const float d = half_at(block, 0);
  for (std::size_t n = 0; n < 32; ++n) {
    values[n] = static_cast<float>(signed_at(block, 2 + n)) * d;
  }
}

// The 32 numbers of a block before their scale. Bytes, and loops without a branch: compilers make vectors of them.
using Numbers = std::array<std::uint8_t, 32>;

// The low bits of 16 bytes are numbers 0 … 15, the high ones the others.
Numbers nibbles(const std::byte* low) {
  Numbers q;
  for (std::size_t n = 0; n < 16; ++n) {
    q[n] = byte_at(low, n) & 15;
    q[n + 16] = byte_at(low, n) >> 4;
  }
  return q;
}
constexpr Numbers kBitOfByte = [] {
  Numbers bits{};
  for (std::size_t n = 0; n < bits.size(); ++n) {
    bits[n] = static_cast<std::uint8_t>(1U << n % 8);
  }
  return bits;
}();
// With a fifth bit: bit n of the four bytes `high`.
Numbers five_bits(const std::byte* low, const std::byte* high) {
  Numbers bits;
  for (std::size_t byte = 0; byte < 4; ++byte) {
    std::memset(bits.data() + 8 * byte, byte_at(high, byte), 8);
  }
  Numbers q = nibbles(low);
  for (std::size_t n = 0; n < 32; ++n) {
    const auto set = static_cast<std::uint8_t>((bits[n] & kBitOfByte[n]) == kBitOfByte[n] ? 16 : 0);
    q[n] = static_cast<std::uint8_t>(q[n] | set);
  }
  return q;
}

void expand_q4_0(const std::byte* block, float* values) {
  const float d = half_at(block, 0);
  const Numbers q = nibbles(block + 2);
  for (std::size_t n = 0; n < 32; ++n) {
    values[n] = static_cast<float>(q[n] - 8) * d;
  }
}
void expand_q4_1(const std::byte* block, float* values) {
  const float d = half_at(block, 0);
  const float least = half_at(block, 2);
  const Numbers q = nibbles(block + 4);
  for (std::size_t n = 0; n < 32; ++n) {
    values[n] = static_cast<float>(q[n]) * d + least;
  }
}
void expand_q5_0(const std::byte* block, float* values) {
  const float d = half_at(block, 0);
  const Numbers q = five_bits(block + 6, block + 2);
  for (std::size_t n = 0; n < 32; ++n) {
    values[n] = static_cast<float>(q[n] - 16) * d;
  }
}
void expand_q5_1(const std::byte* block, float* values) {
  const float d = half_at(block, 0);
  const float least = half_at(block, 2);
  const Numbers q = five_bits(block + 8, block + 4);
  for (std::size_t n = 0; n < 32; ++n) {
    values[n] = static_cast<float>(q[n]) * d + least;
  }
}

void expand_table(const std::array<int, 16>& table, float d, const std::byte* low, float* values) {
  const Numbers q = nibbles(low);
  for (std::size_t n = 0; n < 32; ++n) {
    values[n] = static_cast<float>(table[static_cast<std::size_t>(q[n])]) * d;
  }
}
void expand_iq4_nl(const std::byte* block, float* values) {
  expand_table(kNormalSteps, half_at(block, 0), block + 2, values);
}
// The scale is a power of two of which the exponent is stored, 255 for none; the table has twice the numbers.
void expand_mxfp4(const std::byte* block, float* values) {
  const int exponent = byte_at(block, 0);
  const float d = exponent == 255 ? std::nanf("") : std::ldexp(1.0F, exponent - 128);
  expand_table(kFourBitFloats, d, block + 1, values);
}

// values[n] = scale·q − least, n < count, of q = (low[n] >> low_shift & mask) | (high[n] >> high_shift & high_mask)
// << 4. Written so that compilers make vectors of it.
struct Bits {
  const std::uint8_t* bytes;
  unsigned shift;
  unsigned mask;
};
void expand_line(std::size_t count, float scale, float least, Bits low, float* values) {
  for (std::size_t n = 0; n < count; ++n) {
    values[n] = scale * static_cast<float>(static_cast<int>((low.bytes[n] >> low.shift) & low.mask)) - least;
  }
}
void expand_line(std::size_t count, float scale, float least, Bits low, Bits high, unsigned places, float* values) {
  for (std::size_t n = 0; n < count; ++n) {
    const unsigned q = ((low.bytes[n] >> low.shift) & low.mask) | ((high.bytes[n] >> high.shift) & high.mask) << places;
    values[n] = scale * static_cast<float>(static_cast<int>(q)) - least;
  }
}

// 256 numbers in 16 groups of 16: groups lie in halves of 128 numbers, of which 32 bytes hold four numbers each, n,
// n + 32, n + 64 and n + 96.
void expand_q2_k(const std::byte* block, float* values) {
  const float d = half_at(block, 80);
  const float d_least = half_at(block, 82);
  for (std::size_t group = 0; group < 16; ++group) {
    const std::uint8_t scales = byte_at(block, group);
    const Bits two{bytes_of(block, 16 + group / 8 * 32 + group % 2 * 16), static_cast<unsigned>(group % 8 / 2 * 2), 3};
    expand_line(16, d * static_cast<float>(scales & 15), d_least * static_cast<float>(scales >> 4), two,
                values + 16 * group);
  }
}

// 16 scales of six bits: low four in the nibbles of eight bytes, the other two in four bytes, four scales a byte.
int q3_k_scale(const std::byte* scales, std::size_t group) {
  const int low = group < 8 ? byte_at(scales, group) & 15 : byte_at(scales, group - 8) >> 4;
  const int high = (byte_at(scales, 8 + group % 4) >> (group / 4 * 2)) & 3;
  return (low | high << 4) - 32;
}
void expand_q3_k(const std::byte* block, float* values) {
  const float d = half_at(block, 108);
  for (std::size_t group = 0; group < 16; ++group) {
    const float scale = d * static_cast<float>(q3_k_scale(block + 96, group));
    const std::uint8_t* low = bytes_of(block, 32 + group / 8 * 32 + group % 2 * 16);
    const std::uint8_t* high = bytes_of(block, group % 2 * 16);
    for (std::size_t n = 0; n < 16; ++n) {
      const int q = (low[n] >> (group % 8 / 2 * 2)) & 3;
      const int bit = (high[n] >> (group / 2)) & 1;
      values[16 * group + n] = scale * static_cast<float>(q + 4 * bit - 4);
    }
  }
}

// Groups of 32; numbers n and n + 32 of 64 share a byte.
void expand_q4_k(const std::byte* block, float* values) {
  const float d = half_at(block, 0);
  const float d_least = half_at(block, 2);
  for (std::size_t group = 0; group < 8; ++group) {
    const auto [scale, least] = k_scales(block + 4, group);
    const Bits four{bytes_of(block, 16 + group / 2 * 32), static_cast<unsigned>(group % 2 * 4), 15};
    expand_line(32, d * static_cast<float>(scale), d_least * static_cast<float>(least), four, values + 32 * group);
  }
}
void expand_q5_k(const std::byte* block, float* values) {
  const float d = half_at(block, 0);
  const float d_least = half_at(block, 2);
  for (std::size_t group = 0; group < 8; ++group) {
    const auto [scale, least] = k_scales(block + 4, group);
    const Bits four{bytes_of(block, 48 + group / 2 * 32), static_cast<unsigned>(group % 2 * 4), 15};
    const Bits fifth{bytes_of(block, 16), static_cast<unsigned>(group), 1};
    expand_line(32, d * static_cast<float>(scale), d_least * static_cast<float>(least), four, fifth, 4,
                values + 32 * group);
  }
}
// In halves of 128 numbers: low nibbles n and n + 64 share a byte of 64, the other two bits n, n + 32, n + 64 and
// n + 96 one of 32.
void expand_q6_k(const std::byte* block, float* values) {
  const float d = half_at(block, 208);
  for (std::size_t group = 0; group < 16; ++group) {
    const std::size_t half = group / 8;
    const std::size_t within = group % 8;
    const float scale = d * static_cast<float>(signed_at(block, 192 + group));
    const std::uint8_t* low = bytes_of(block, half * 64 + within % 4 * 16);
    const std::uint8_t* high = bytes_of(block, 128 + half * 32 + within % 2 * 16);
    for (std::size_t n = 0; n < 16; ++n) {
      const int q = ((low[n] >> (within / 4 * 4)) & 15) | ((high[n] >> (within / 2 * 2)) & 3) << 4;
      values[16 * group + n] = scale * static_cast<float>(q - 32);
    }
  }
}

// Groups of 32 in steps of IQ4_NL, each with a scale of six bits: four in `low` nibbles, two in the bits of a word.
void expand_iq4_xs(const std::byte* block, float* values) {
  const float d = half_at(block, 0);
  for (std::size_t group = 0; group < 8; ++group) {
    const int low = (byte_at(block, 4 + group / 2) >> (group % 2 * 4)) & 15;
    const int high = (word_at(block, 2) >> (2 * group)) & 3;
    expand_table(kNormalSteps, d * static_cast<float>((low | high << 4) - 32), block + 8 + 16 * group,
                 values + 32 * group);
  }
}

// −1, 0 and 1 as digits of base three, five a byte, the first the highest: the byte is their fraction of 3^5, times 256
// and rounded up, so that a product with 3^n leaves digit n + 1 as the first. Bytes hold numbers n, n + count, ….
void expand_digits(const std::byte* bytes, std::size_t count, std::size_t digits, float d, float* values) {
  unsigned power = 1;
  for (std::size_t digit = 0; digit < digits; ++digit, power *= 3) {
    for (std::size_t n = 0; n < count; ++n) {
      const unsigned rest = byte_at(bytes, n) * power & 255U;
      *values++ = static_cast<float>(static_cast<int>(rest * 3 >> 8U) - 1) * d;
    }
  }
}
void expand_tq1_0(const std::byte* block, float* values) {
  const float d = half_at(block, 52);
  expand_digits(block, 32, 5, d, values);
  expand_digits(block + 32, 16, 5, d, values + 160);
  expand_digits(block + 48, 4, 4, d, values + 240);
}
// In halves of 128 numbers: a byte holds numbers n, n + 32, n + 64 and n + 96.
void expand_tq2_0(const std::byte* block, float* values) {
  const float d = half_at(block, 64);
  for (std::size_t group = 0; group < 8; ++group) {
    const std::uint8_t* const bytes = bytes_of(block, group / 4 * 32);
    for (std::size_t n = 0; n < 32; ++n) {
      values[32 * group + n] = static_cast<float>(((bytes[n] >> (group % 4 * 2)) & 3) - 1) * d;
    }
  }
}

// Neighbours share a byte, the first in its lowest bits.
void expand_q1_0(const std::byte* block, float* values) {
  const float d = half_at(block, 0);
  for (std::size_t n = 0; n < 128; ++n) {
    values[n] = ((byte_at(block, 2 + n / 8) >> (n % 8)) & 1) != 0 ? d : -d;
  }
}
void expand_q2_0(const std::byte* block, float* values) {
  const float d = half_at(block, 0);
  for (std::size_t n = 0; n < 64; ++n) {
    values[n] = static_cast<float>(((byte_at(block, 2 + n / 4) >> (n % 4 * 2)) & 3) - 1) * d;
  }
}

// Numbers of no exponent are whole multiples of the least; there is no infinity. Written so that compilers make vectors
// of it.
float float8_value(unsigned bits) {
  const unsigned size = bits & 127U;
  const float small = static_cast<float>(static_cast<int>(size)) * 0x1p-9F;
  const float large = std::bit_cast<float>((size + 960U) << 20U);
  const float value = size < 8 ? small : size < 127 ? large : std::numeric_limits<float>::quiet_NaN();
  return bits > 127 ? -value : value;
}

// Four groups of 16, numbers n and n + 8 in a byte, behind their scales: 8-bit floats without a sign, of which the one
// that is no number counts as 0. The table has twice the numbers.
void expand_nvfp4(const std::byte* block, float* values) {
  for (std::size_t group = 0; group < 4; ++group) {
    const unsigned bits = byte_at(block, group);
    // Half as many bits of exponent as binary16 has: its number is 2^8 times as small.
    const float scale = bits == 127 ? 0 : float_of_half(static_cast<std::uint16_t>((bits & 127U) << 7U)) * 128;
    for (std::size_t n = 0; n < 16; ++n) {
      const unsigned both = byte_at(block, 4 + 8 * group + n % 8);
      values[16 * group + n] = static_cast<float>(kFourBitFloats[n < 8 ? both & 15U : both >> 4U]) * scale;
    }
  }
}

constexpr std::array<Format, 28> kFormats{{
    {"F32", 0, 4, 1, 4, expand_f32, pack_f32},
    {"F16", 1, 2, 1, 2, expand_f16, pack_f16},
    {"Q4_0", 2, 18, 32, 1, expand_q4_0, pack_q4_0},
    {"Q4_1", 3, 20, 32, 1, expand_q4_1, pack_q4_1},
    {"Q5_0", 6, 22, 32, 1, expand_q5_0, pack_q5_0},
    {"Q5_1", 7, 24, 32, 1, expand_q5_1, pack_q5_1},
    {"Q8_0", 8, 34, 32, 1, expand_q8_0, pack_q8_0},
    {"Q2_K", 10, 84, 256, 1, expand_q2_k},
    {"Q3_K", 11, 110, 256, 1, expand_q3_k},
    {"Q4_K", 12, 144, 256, 1, expand_q4_k, pack_q4_k},
    {"Q5_K", 13, 176, 256, 1, expand_q5_k, pack_q5_k},
    {"Q6_K", 14, 210, 256, 1, expand_q6_k, pack_q6_k},
    {"IQ2_XXS", 16, 66, 256, 1, expand_iq2_xxs},
    {"IQ2_XS", 17, 74, 256, 1, expand_iq2_xs},
    {"IQ3_XXS", 18, 98, 256, 1, expand_iq3_xxs},
    {"IQ1_S", 19, 50, 256, 1, expand_iq1_s},
    {"IQ4_NL", 20, 18, 32, 1, expand_iq4_nl},
    {"IQ3_S", 21, 110, 256, 1, expand_iq3_s},
    {"IQ2_S", 22, 82, 256, 1, expand_iq2_s},
    {"IQ4_XS", 23, 136, 256, 1, expand_iq4_xs},
    {"IQ1_M", 29, 56, 256, 1, expand_iq1_m},
    {"BF16", 30, 2, 1, 2, expand_bf16, pack_bf16},
    {"TQ1_0", 34, 54, 256, 1, expand_tq1_0},
    {"TQ2_0", 35, 66, 256, 1, expand_tq2_0},
    {"MXFP4", 39, 17, 32, 1, expand_mxfp4},
    {"NVFP4", 40, 36, 64, 1, expand_nvfp4},
    {"Q1_0", 41, 18, 128, 1, expand_q1_0},
    {"Q2_0", 42, 18, 64, 1, expand_q2_0},
}};

void expand_float8(const std::byte* block, float* values) {
  *values = float8_value(byte_at(block, 0));
}
template <std::size_t kElements>
void expand_scaled_float8(const std::byte* block, float* values) {
  float scale = 0;
  std::memcpy(&scale, block, sizeof scale);
  const std::uint8_t* const bytes = bytes_of(block, sizeof scale);
  for (std::size_t n = 0; n < kElements; ++n) {
    values[n] = float8_value(bytes[n]) * scale;
  }
}

template <std::size_t kElements>
void expand_scaled_int4(const std::byte* block, float* values) {
  float scale = 0;
  std::memcpy(&scale, block, sizeof scale);
  const int zero = byte_at(block, 4);
  const std::uint8_t* const bytes = bytes_of(block, 5);
  for (std::size_t group = 0; group < kElements; group += 32) {
    for (std::size_t n = 0; n < 16; ++n) {
      values[group + n] = static_cast<float>((bytes[group / 2 + n] & 15) - zero) * scale;
      values[group + n + 16] = static_cast<float>((bytes[group / 2 + n] >> 4) - zero) * scale;
    }
  }
}

constexpr Format kFloat8{"F8_E4M3", kInNoFile, 1, 1, 1, expand_float8};
constexpr Format kScaledFloat8{"F8_E4M3", kInNoFile, 36, 32, 1, expand_scaled_float8<32>};
constexpr Format kWideFloat8{"F8_E4M3", kInNoFile, 132, 128, 1, expand_scaled_float8<128>};
constexpr Format kScaledInt4{"INT4", kInNoFile, 21, 32, 1, expand_scaled_int4<32>};
constexpr Format kMiddleInt4{"INT4", kInNoFile, 37, 64, 1, expand_scaled_int4<64>};
constexpr Format kWideInt4{"INT4", kInNoFile, 69, 128, 1, expand_scaled_int4<128>};

char upper(char letter) {
  return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
}

}  // namespace

std::span<const Format> formats() {
  return kFormats;
}

const Format* format_of(std::uint32_t number) {
  const auto* const found =
      std::find_if(kFormats.begin(), kFormats.end(), [&](const Format& each) { return each.number == number; });
  return found == kFormats.end() ? nullptr : found;
}

const Format* format_of(std::string_view name) {
  const auto same = [&](const Format& each) {
    return std::equal(name.begin(), name.end(), each.name.begin(), each.name.end(),
                      [](char a, char b) { return upper(a) == b; });
  };
  const auto* const found = std::find_if(kFormats.begin(), kFormats.end(), same);
  return found == kFormats.end() ? nullptr : found;
}

const Format& float8() {
  return kFloat8;
}

const Format& scaled_float8(std::int64_t elements) {
  return elements == kWideFloat8.elements ? kWideFloat8 : kScaledFloat8;
}
const Format& scaled_int4(std::int64_t elements) {
  return elements == kWideInt4.elements ? kWideInt4 : elements == kMiddleInt4.elements ? kMiddleInt4 : kScaledInt4;
}

std::optional<std::int64_t> row_bytes(const Format& format, std::int64_t elements) {
  if (elements < 0 || elements % format.elements != 0) {
    return std::nullopt;
  }
  return checked_product({elements / format.elements, format.bytes});
}

void expand(const Format& format, const std::byte* blocks, std::int64_t count, float* values) {
  for (std::int64_t n = 0; n < count; ++n) {
    format.expand(blocks + n * format.bytes, values + n * format.elements);
  }
}

void pack(const Format& format, const float* values, std::int64_t count, std::byte* blocks) {
  for (std::int64_t n = 0; n < count; ++n) {
    format.pack(values + n * format.elements, blocks + n * format.bytes);
  }
}

float float_of_half(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16U;
  const std::uint32_t exponent = (bits >> 10U) & 31U;
  const std::uint32_t fraction = bits & 0x3FFU;
  if (exponent == 0) {  // a fraction of the least power, exact in float32
    const float value = static_cast<float>(fraction) * 0x1p-24F;
    return sign != 0 ? -value : value;
  }
  const std::uint32_t wide = exponent == 31 ? 255U : exponent + 112U;
  return std::bit_cast<float>(sign | wide << 23U | fraction << 13U);
}

std::uint16_t half_of_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16U & 0x8000U);
  const float size = std::abs(value);
  if (!(size < 65520.0F)) {  // the middle between the largest number and the next power, or NaN
    return static_cast<std::uint16_t>(sign | (std::isnan(value) ? 0x7E00U : 0x7C00U));
  }
  if (size < 0x1p-14F) {
    return static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>(std::nearbyint(size * 0x1p24F)));
  }
  const std::uint32_t magnitude = (bits & 0x7FFFFFFFU) - (112U << 23U);
  const std::uint32_t rounded = magnitude + 0xFFFU + (magnitude >> 13U & 1U);
  return static_cast<std::uint16_t>(sign | rounded >> 13U);
}

}  // namespace locus::blocks
