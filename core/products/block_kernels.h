// One token times rows of blocks (core/base/block_formats.h), read as they are: what a further token costs. Written
// once for any vector width and compiled for AVX-512, AVX2 and neither, as kernels.h.
//
// Values: a group of numbers q with one scale d and one least value m adds d·Σ q·x − m·Σ x. Every format without AVX2, and
// 8-bit floats and codes of four bits (NF4, FP4), do so in float32 (1e-5 of Σ |w·x|). The others take x in whole numbers
// of 21 bits for each group of 32, and Σ q·x is exact: what is lost is at most half a step, 2^−21 of a group's largest
// |x|, times Σ |w|.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/block_formats.h"
#include "core/base/instruction_sets.h"

namespace locus::products {

// The order in which a kernel takes a token's numbers. kPlain: one after another. kHalves: in `lines`, of every 128 the
// numbers 0 … 15 of each 32 before the others, as blocks of 32 hold them in the lower and the upper four bits of bytes.
// kPairs: `pairs` holds x, and there are no digits; of every 64 four lines of 16: numbers 0, 2, 4, 6 of each 16;
// 1, 3, 5, 7; 8, 10, 12, 14; 9, 11, 13, 15.
enum class TokenOrder { kPlain, kHalves, kPairs };
constexpr std::size_t kTokenOrders = 3;

// One token x (K), as the kernels take it: as it is; its sums; and x ≈ step·(2^14·high + 2^7·middle + low) by digits of
// −64 … 63 and a step for each group of 32. Groups with a number that is not finite have the step NaN, those below
// 1e−32 are 0. Precondition: K has whole groups of 32.
struct BlockToken {
  // A line of the cache.
  struct alignas(64) Line {
    std::int8_t bytes[64];
  };
  struct alignas(64) FloatLine {
    float numbers[16];
  };

  BlockToken(const float* token, std::int64_t inputs, TokenOrder order);
  // (⌈K / 64⌉, 3, 64): high, middle, low; 0 from K on. In halves ⌈K / 256⌉·4 of them.
  const std::int8_t* digits() const { return lines.data()->bytes; }
  // (3, 64), whose first 32 columns are those of a group of 32.
  const std::int8_t* group_digits(std::int64_t group) const { return digits() + group / 2 * 192 + group % 2 * 32; }

  const float* x;
  std::vector<float> sums;       // (K / 16): Σ of 16 numbers
  std::vector<float> wide_sums;  // (K / 32), and zeros up to a multiple of 8: Σ of 32 numbers
  std::vector<float> steps;      // likewise
  std::vector<Line> lines;       // the digits; none in the order kPairs
  std::vector<FloatLine> pairs;  // (⌈K / 64⌉·4): x in the order kPairs, else none
};

// y[n] += Σ_k x[k] · W[n, k], n < outputs, for rows one after another.
using BlockDot = void (*)(const std::byte* rows, std::int64_t outputs, std::int64_t inputs, const BlockToken& token,
                          float* y);

// Whether this CPU multiplies bytes and adds four products in one step (AVX-512 VNNI).
bool has_byte_products();

// The order in which kernels of a format take a token.
TokenOrder token_order(const blocks::Format& format, std::int64_t version = used_version());

// The kernel of a format, by tokens in its order; null where it has none: its rows are expanded. With `byte_products`, AVX-512's uses them.
BlockDot block_dot(const blocks::Format& format, std::int64_t version = used_version(),
                   bool byte_products = has_byte_products());

}  // namespace locus::products
