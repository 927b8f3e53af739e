#include "core/products/block_kernels.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

#include "core/base/block_tables.h"
#include "core/base/held_formats.h"
#include "core/products/group_step.h"
#include "core/products/rounded_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace locus::products {

namespace block_kernels {

namespace {

// Tables of whole numbers with `below` added to each, so that none is below 0.
constexpr std::array<std::uint8_t, 16> raised(const std::array<int, 16>& table, int below) {
  std::array<std::uint8_t, 16> numbers{};
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    numbers.at(n) = static_cast<std::uint8_t>(table.at(n) + below);
  }
  return numbers;
}
constexpr int largest_of(const std::array<std::uint8_t, 16>& table) {
  return *std::max_element(table.begin(), table.end());
}
constexpr int kNormalBelow = 127;
constexpr int kFloatBelow = 12;
constexpr std::array<std::uint8_t, 16> kNormalTable = raised(blocks::kNormalSteps, kNormalBelow);
constexpr std::array<std::uint8_t, 16> kFloatTable = raised(blocks::kFourBitFloats, kFloatBelow);

// The scales of MXFP4 by their exponents: 2^(exponent − 127), none for 255. Looked up, they need no step of the units
// that turn bytes into numbers.
constexpr std::array<float, 256> exponent_scales() {
  std::array<float, 256> scales{};
  for (std::uint32_t n = 0; n < scales.size(); ++n) {
    scales.at(n) = std::bit_cast<float>(n == 255 ? 0x7FC00000U : n > 0 ? n << 23U : 0x400000U);
  }
  return scales;
}
alignas(64) constexpr std::array<float, 256> kExponentScales = exponent_scales();

// The bfloat16 number that an 8-bit float (float8_e4m3fn) equals, as two bytes, by its seven bits without the sign.
struct Float8Tables {
  alignas(64) std::array<std::uint8_t, 128> lower;
  alignas(64) std::array<std::uint8_t, 128> upper;
};
constexpr Float8Tables float8_tables() {
  Float8Tables tables{};
  for (std::uint32_t n = 0; n < 128; ++n) {
    const std::uint32_t bits = n == 127 ? 0x7FC00000U
                               : n < 8  ? std::bit_cast<std::uint32_t>(static_cast<float>(n) / 512)
                                        : (n << 20U) + (120U << 23U);  // the biases of the exponents are 7 and 127
    tables.lower.at(n) = static_cast<std::uint8_t>(bits >> 16U);
    tables.upper.at(n) = static_cast<std::uint8_t>(bits >> 24U);
  }
  return tables;
}
constexpr Float8Tables kFloat8 = float8_tables();

constexpr float kLargestByte = 127;

}  // namespace

namespace plain {
#include "core/products/block_layouts.inc"
#include "core/products/plain_kernels.inc"
#include "core/products/plain_rounded_kernels.inc"
}  // namespace plain

#if defined(LOCUS_VECTOR_TARGETS)
#define LOCUS_F16C 1  // the compiler's own macro is that of the file, not of a target within it
namespace avx2 {
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c,bmi,bmi2")
#include "core/products/block_layouts.inc"
#include "core/products/digit_kernels.inc"
#include "core/products/held_kernels.inc"
#include "core/products/rounded_kernels.inc"
#pragma GCC pop_options
}  // namespace avx2
namespace avx512 {
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c,bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512cd,prefer-vector-width=512")
#include "core/products/block_layouts.inc"
#include "core/products/wide_digit_kernels.inc"
#pragma GCC pop_options
}  // namespace avx512
namespace avx512_vnni {
#pragma GCC push_options
#pragma GCC target( \
    "avx2,fma,f16c,bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx512vnni,prefer-vector-width=512")
#define LOCUS_VNNI 1
#include "core/products/block_layouts.inc"
#include "core/products/wide_digit_kernels.inc"
#include "core/products/wide_rounded_kernels.inc"
#undef LOCUS_VNNI
#pragma GCC pop_options
}  // namespace avx512_vnni
namespace avx512_vbmi {
#pragma GCC push_options
#pragma GCC target( \
    "avx2,fma,f16c,bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx512vbmi,prefer-vector-width=512")
#include "core/products/wide_held_kernels.inc"
#pragma GCC pop_options
}  // namespace avx512_vbmi
#undef LOCUS_F16C
#endif

}  // namespace block_kernels

bool has_byte_products() {
#if defined(LOCUS_VECTOR_TARGETS)
  static const bool has = __builtin_cpu_supports("avx512vnni") != 0 && __builtin_cpu_supports("avx512vl") != 0;
  return has;
#else
  return false;
#endif
}

namespace {

bool is_float8(const blocks::Format& format) {
  return format.name == std::string_view("F8_E4M3") && format.elements > 1;
}
// Whether this CPU looks bytes up in tables of 128 (AVX-512 VBMI).
bool has_byte_permutations() {
#if defined(LOCUS_VECTOR_TARGETS)
  static const bool has = __builtin_cpu_supports("avx512vbmi") != 0;
  return has;
#else
  return false;
#endif
}

}  // namespace

BlockDot block_dot(const blocks::Format& format, std::int64_t version, bool byte_products) {
#if defined(LOCUS_VECTOR_TARGETS)
  if (token_order(format, version) == TokenOrder::kPairs) {
    return format.elements == 128 ? block_kernels::avx512_vbmi::dot_float8_of_128
                                  : block_kernels::avx512_vbmi::dot_float8_of_32;
  }
  if (const BlockDot held = version > 0 ? block_kernels::avx2::held_dot_of(format) : nullptr; held != nullptr) {
    return held;
  }
  return version == 2 && byte_products ? block_kernels::avx512_vnni::digit_dot_of(format.name)
         : version == 2                ? block_kernels::avx512::digit_dot_of(format.name)
         : version == 1                ? block_kernels::avx2::digit_dot_of(format.name)
                                       : block_kernels::plain::dot_of(format.name);
#else
  (void)byte_products;
  return version == 0 ? block_kernels::plain::dot_of(format.name) : nullptr;
#endif
}

RoundedDot rounded_dot(const blocks::Format& format, std::int64_t version, bool byte_products) {
#if defined(LOCUS_VECTOR_TARGETS)
  return version == 2 && byte_products ? block_kernels::avx512_vnni::rounded_dot_of(format.name)
         : version > 0                 ? block_kernels::avx2::rounded_dot_of(format.name)
                                       : block_kernels::plain::rounded_dot_of(format.name);
#else
  (void)byte_products;
  return version == 0 ? block_kernels::plain::rounded_dot_of(format.name) : nullptr;
#endif
}

namespace {

template <class Layout>
struct HasLayout {
  static constexpr bool dot = true;
};

constexpr std::int64_t kLine = sizeof(BlockToken::Line);

std::size_t padded_groups(std::int64_t inputs) {
  return static_cast<std::size_t>((inputs / 32 + 7) / 8 * 8);
}

// Lines of 64 numbers, each `planes` times, in halves; `inputs` numbers are there.
std::vector<BlockToken::Line> in_halves(const std::vector<BlockToken::Line>& plain, std::int64_t inputs,
                                        std::int64_t planes) {
  std::vector<BlockToken::Line> halves(static_cast<std::size_t>((inputs + 255) / 256 * 4 * planes));
  for (std::int64_t from = 0; from < inputs; from += 16) {
    const std::int64_t to = from / 128 * 128 + from % 32 / 16 * 64 + from % 128 / 32 * 16;
    for (std::int64_t plane = 0; plane < planes; ++plane) {
      const auto line = [&](std::int64_t number) { return static_cast<std::size_t>(number / kLine * planes + plane); };
      std::copy_n(plain[line(from)].bytes + from % kLine, 16, halves[line(to)].bytes + to % kLine);
    }
  }
  return halves;
}

// x in the order kPairs, with zeros up to a multiple of 64 numbers.
std::vector<BlockToken::FloatLine> in_pairs(const float* x, std::int64_t inputs) {
  std::vector<BlockToken::FloatLine> pairs(static_cast<std::size_t>((inputs + 63) / 64 * 4));
  for (std::int64_t n = 0; n < inputs; ++n) {
    const auto line = static_cast<std::size_t>(n / 64 * 4 + n % 16 / 8 * 2 + n % 2);
    pairs[line].numbers[n % 64 / 16 * 4 + n % 8 / 2] = x[n];
  }
  return pairs;
}

}  // namespace

TokenOrder token_order(const blocks::Format& format, std::int64_t version) {
  const bool halves = version > 0 && block_kernels::plain::layout_of<bool, HasLayout>(format.name);
  const bool pairs = version == 2 && is_float8(format) && has_byte_permutations();
  return halves ? TokenOrder::kHalves : pairs ? TokenOrder::kPairs : TokenOrder::kPlain;
}

RoundedToken::RoundedToken(const float* x, std::int64_t inputs, std::int64_t group, TokenOrder order,
                           std::int64_t version)
    : lines(static_cast<std::size_t>((inputs + 63) / 64)),
      steps(group == 32 ? padded_groups(inputs) : static_cast<std::size_t>(inputs / group)),
      sums(static_cast<std::size_t>(inputs / 16)),
      wide_sums(group == 32 ? steps.size() : 0) {
#if defined(LOCUS_VECTOR_TARGETS)
  (version > 0 ? block_kernels::avx2::round_to_bytes : block_kernels::plain::round_to_bytes)(x, inputs, group, *this);
#else
  (void)version;
  block_kernels::plain::round_to_bytes(x, inputs, group, *this);
#endif
  for (std::size_t n = 0; !wide_sums.empty() && n < sums.size() / 2; ++n) {
    wide_sums[n] = steps[n] * static_cast<float>(sums[2 * n] + sums[2 * n + 1]);
  }
  if (order == TokenOrder::kHalves) {
    lines = in_halves(lines, inputs, 1);
  }
}

BlockToken::BlockToken(const float* token, std::int64_t inputs, TokenOrder order)
    : x(token),
      sums(static_cast<std::size_t>(inputs / 16)),
      wide_sums(padded_groups(inputs)),
      steps(wide_sums.size()),
      lines(order == TokenOrder::kPairs ? 0 : static_cast<std::size_t>((inputs + 63) / 64 * 3)) {
  constexpr std::int64_t kGroup = 32;
  constexpr float kLargest = 63 * (16384 + 128 + 1);  // that has three digits
  for (std::size_t group = 0; group < static_cast<std::size_t>(inputs / kGroup); ++group) {
    const float* const own = x + static_cast<std::int64_t>(group) * kGroup;
    float largest = 0;
    float sum[2] = {};
    bool finite = true;
    for (std::int64_t n = 0; n < kGroup; ++n) {
      largest = std::max(largest, std::abs(own[n]));
      finite = finite && std::isfinite(own[n]);
      sum[n / 16] += own[n];
    }
    sums[2 * group] = sum[0];
    sums[2 * group + 1] = sum[1];
    wide_sums[group] = sum[0] + sum[1];
    const float step = largest / kLargest;
    const bool counts = finite && step >= std::numeric_limits<float>::min();
    steps[group] = finite ? (counts ? step : 0) : std::numeric_limits<float>::quiet_NaN();
    if (lines.empty() || !counts) {
      continue;
    }
    std::int8_t* const three = lines[group / 2 * 3].bytes + group % 2 * 32;
    for (std::int64_t n = 0; n < kGroup; ++n) {
      const auto whole = static_cast<std::int32_t>(std::lrintf(own[n] / step));
      const std::int32_t low = ((whole + 64) & 127) - 64;
      const std::int32_t rest = (whole - low) / 128;
      const std::int32_t middle = ((rest + 64) & 127) - 64;
      three[n] = static_cast<std::int8_t>((rest - middle) / 128);
      three[64 + n] = static_cast<std::int8_t>(middle);
      three[128 + n] = static_cast<std::int8_t>(low);
    }
  }
  if (order == TokenOrder::kHalves) {
    lines = in_halves(lines, inputs, 3);
  }
  if (order == TokenOrder::kPairs) {
    pairs = in_pairs(x, inputs);
  }
}

}  // namespace locus::products
