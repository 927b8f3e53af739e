// Products with weights as a checkpoint stores them: bfloat16, binary16 or blocks of fewer bits, mapped from the file.
// No float32 copy of a weight is made but for the panel in work, which fits a core's second-level cache; a few tokens
// are multiplied straight from the 16-bit rows.
//
// Letters: T tokens, K inputs, N outputs. Weights are (N, K) with strides: rows of K beside each other as most
// checkpoints have them, or rows of N (GPT-2's Conv1D) where output_stride is 1; other strides are right too, and
// slower. Values: those of converting the weights first and multiplying with the same kernels, bit for bit; sums run
// over ascending k in float32, so they differ from another library's by rounding alone; in matrix tiles, which take many
// tokens where the CPU has them, by less (matrix_tiles.h). One token times blocks sums by groups instead
// (block_kernels.h): within 1e-5 of expanding them first, unless `fast` lets products round.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/block_formats.h"
#include "core/products/kernels.h"

namespace locus::products {

struct Weights {
  const void* data = nullptr;  // aligned for its elements
  Format format = Format::kBfloat16;
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;
  std::int64_t output_stride = 0;  // in elements
  std::int64_t input_stride = 1;
  // Where the weights are blocks instead of numbers of `format`: rows one after another, and no strides.
  const blocks::Format* blocks = nullptr;
  // Products with blocks may round, within the errors stated there: one token to bytes where the format has that product
  // (rounded_kernels.h), more than kMaxTokens tokens and the weights to 14 bits where the CPU has no matrix tiles
  // (integer_tiles.h).
  bool fast = false;

  // The number of input k of output n, or the block that holds it.
  const std::byte* at(std::int64_t n, std::int64_t k) const;
};

// y[t·y_stride + n] = bias[n] + Σ_k x[t·x_stride + k] · W[n, k] on all threads of ATen's pool; `bias` (N) may be null,
// y must not overlap x. `with`: the kernels to use.
void multiply(const Weights& weights, const float* x, std::int64_t tokens, std::int64_t x_stride, const float* bias,
              float* y, std::int64_t y_stride, const Kernels& with = kernels());

// One of several matrices that read the same token.
struct TokenProduct {
  Weights weights;
  const float* bias = nullptr;  // (N); may be null
  float* y = nullptr;           // (N)
};

// multiply() of one token x (K) with each of these matrices, whose K are equal: the same values bit for bit, but the
// threads start once for all of them, and the token is rounded once.
void multiply_token(std::span<const TokenProduct> products, const float* x, const Kernels& with = kernels());

// Whether none of `count` 16-bit numbers is an infinity or NaN, on all threads. `format` must be kBfloat16 or kHalf.
bool all_finite(const std::uint16_t* values, std::int64_t count, Format format);

}  // namespace locus::products
