// The products of products.h with more than kMaxTokens tokens, and with weights whose elements lie apart.
#pragma once

#include <cstdint>

#include "core/products/products.h"

namespace locus::products {

constexpr std::int64_t kLeastTiled = 16;  // tokens in matrix tiles; fewer leave most of a tile empty

// multiply() on all threads: in matrix tiles where `with` has them and the tokens are enough and finite, else by strips of
// tokens and panels of float32 weights.
void multiply_many(const Weights& weights, const float* x, std::int64_t tokens, std::int64_t x_stride,
                   const float* bias, float* y, std::int64_t y_stride, const Kernels& with);

}  // namespace locus::products
