// One token times rows of blocks by whole numbers of eight bits: the fast products, which Packed::fast asks for. The
// token is rounded as llama.cpp rounds it: for blocks of 32 numbers a group of 32 has one step (its Q8_0 and Q8_1), for
// blocks of 256 all 256 share one (Q8_K). Sums of products within a group of the weights are exact, in 32 bits; blocks
// are added in float32.
//
// Error: |y − Σ w·x| ≤ Σ over groups of the token of (step / 2)·Σ |w|, with step = max |x| / 127, but for float32's
// rounding: 1e-5 of Σ |w·x| as in block_kernels.h. llama.cpp keeps the steps of 32 in binary16, here they are float32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/block_formats.h"
#include "core/products/block_kernels.h"

namespace locus::products {

// A token x (K): x ≈ step·byte with bytes −127 … 127, to the nearest, ties to even. Groups with a number that is not
// finite have the step NaN, those whose step would be denormal are 0. Precondition: K has whole groups of `group`
// numbers, 32 or 256.
struct RoundedToken {
  RoundedToken(const float* x, std::int64_t inputs, std::int64_t group, TokenOrder order,
               std::int64_t version = used_version());
  // (⌈K / 64⌉·64); 0 from K on. In halves (⌈K / 256⌉·256).
  const std::int8_t* bytes() const { return lines.data()->bytes; }

  std::vector<BlockToken::Line> lines;  // the bytes
  std::vector<float> steps;             // one a group; of 32, zeros up to a multiple of 8
  std::vector<std::int16_t> sums;       // (K / 16): Σ of 16 bytes
  std::vector<float> wide_sums;         // of groups of 32: step·Σ of the group's bytes; likewise
};

// y[n] += Σ_k x[k] · W[n, k], n < outputs, for rows one after another.
using RoundedDot = void (*)(const std::byte* rows, std::int64_t outputs, std::int64_t inputs, const RoundedToken& token,
                            float* y);

// The numbers of a token's group for this format.
constexpr std::int64_t rounded_group(const blocks::Format& format) {
  return format.elements;
}

// The kernel of a format, by tokens in its order (token_order()): Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K, Q6_K, IQ4_NL and MXFP4; null for the others. With
// `byte_products`, AVX-512's multiplies bytes and adds up in one step; without, AVX2's is used.
RoundedDot rounded_dot(const blocks::Format& format, std::int64_t version = used_version(),
                       bool byte_products = has_byte_products());

}  // namespace locus::products
