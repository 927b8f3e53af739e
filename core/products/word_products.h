// The products of products.h with tokens and weights rounded to whole numbers (word_tiles.h).
#pragma once

#include <cstdint>

#include "core/products/products.h"
#include "core/products/word_tiles.h"

namespace locus::products {

// Whether rows of a format can be rounded in groups.
bool has_words(const blocks::Format& format, const WordTiles* with = kernels().words);

// Whether these weights ask for such products, and the kernels have them.
bool takes_words(const Weights& weights, const Kernels& with);

// multiply() on all threads, of weights that takes_words() is true of.
void multiply_words(const Weights& weights, const float* x, std::int64_t tokens, std::int64_t x_stride,
                    const float* bias, float* y, std::int64_t y_stride, const WordTiles& with);

}  // namespace locus::products
