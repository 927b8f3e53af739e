// Products of many tokens in AMX's matrix tiles, which multiply bfloat16 numbers and add in float32, sixteen times as
// many in a step as AVX-512 does in float32. A float32 number is the sum of three bfloat16 numbers of 8 bits each,
// x = x₁ + x₂ + x₃. Of the nine products of two such sums six are added: those left out, x₂w₃ + x₃w₂ + x₃w₃, are below
// 2⁻²³·|x·w|, and a sum is rounded once in 32 inputs, so that the result is closer to float64's than a float32 loop's.
//
// Subnormal numbers count as 0, and an infinite weight may give NaN.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace locus::products {

// Tokens and outputs come in blocks of 16, inputs in steps of 32. A block's step takes three tiles, those of the parts
// x₁, x₂ and x₃; a block is its steps one after another. Blocks lie at multiples of 64 bytes.
constexpr std::int64_t kTileBlock = 16;
constexpr std::int64_t kTileInputs = 32;
constexpr std::int64_t kTileSums = 4 * kTileBlock * kTileBlock;
constexpr std::int64_t kStepBytes = 3 * kTileBlock * kTileInputs * 2;

struct MatrixTiles {
  // A thread's tiles are 16 × 64 bytes from `begin` to `end`.
  void (*begin)();
  void (*end)();
  // The block of tokens x[t·x_stride + k], t < count ≤ 16, k < depth; the others are 0. False: one is not finite, or too
  // large for bfloat16, and the tiles cannot multiply them.
  bool (*pack_tokens)(const float* x, std::int64_t x_stride, std::int64_t count, std::int64_t depth, std::byte* block);
  // The block of outputs w[n·stride + k], n < count ≤ 16, by Format (kernels.h). How many of the parts are not all zero,
  // at least 1: those of bfloat16 numbers are one.
  std::array<
      std::int64_t (*)(const void* w, std::int64_t stride, std::int64_t count, std::int64_t depth, std::byte* block), 3>
      pack_outputs;
  // The same of w[k·stride + n].
  std::array<
      std::int64_t (*)(const void* w, std::int64_t stride, std::int64_t count, std::int64_t depth, std::byte* block), 3>
      pack_transposed;
  // Sums of 32 outputs by 32 tokens, 4 KiB: those of `steps` steps of two blocks each, which lie token_bytes and
  // output_bytes apart, set or, with `more`, added. `parts`: the most that pack_outputs() returned. Without
  // `two_tokens`, the second block of tokens is left out.
  void (*multiply)(const std::byte* token_blocks, std::int64_t token_bytes, const std::byte* output_blocks,
                   std::int64_t output_bytes, std::int64_t parts, std::int64_t steps, bool two_tokens, bool more,
                   float* sums);
  // y[t·y_stride + n] = bias[n] + these sums, t < tokens ≤ 32, n < outputs ≤ 32; `bias` may be null.
  void (*store)(const float* sums, std::int64_t tokens, std::int64_t outputs, const float* bias, float* y,
                std::int64_t y_stride);
};

// Null where the compiler makes none. To be used where runnable_tiles() alone (core/base/instruction_sets.h).
const MatrixTiles* matrix_tiles();

}  // namespace locus::products
