// The products of products.h with tokens and weights rounded to whole numbers (integer_tiles.h).
#pragma once

#include <cstdint>

#include "core/products/integer_tiles.h"
#include "core/products/products.h"

namespace locus::products {

// Whether the kernels have such products of rows of a format: not where matrix tiles, which are faster, take its tokens.
bool has_integers(const blocks::Format& format, const Kernels& with = kernels());

// Whether these weights ask for such products, and the kernels have them.
bool takes_integers(const Weights& weights, const Kernels& with);

// multiply() on all threads, of weights that takes_integers() is true of.
void multiply_integers(const Weights& weights, const float* x, std::int64_t tokens, std::int64_t x_stride,
                       const float* bias, float* y, std::int64_t y_stride, const IntegerTiles& with);

}  // namespace locus::products
