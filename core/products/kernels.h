// Inner loops of products.h, written once for any vector width and compiled for AVX-512, AVX2 and neither. They read
// weights as bfloat16, binary16 or float32 and compute in float32: what is summed, and in which order, is the same for
// all three.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/instruction_sets.h"

namespace locus::products {

struct MatrixTiles;
struct IntegerTiles;

enum class Format { kBfloat16, kHalf, kFloat };
constexpr std::size_t kFormats = 3;
constexpr std::int64_t kMaxTokens = 4;  // of dot() and axpy()

// A slice is depth × `columns` floats, row-major: the weights of `columns` outputs, one input after another. A strip is
// depth × `rows` floats: that many tokens, one input after another.
struct Kernels {
  std::int64_t rows;
  std::int64_t columns;

  // The float32 value of one weight. By format, as the others.
  std::array<float (*)(const void* w), kFormats> one;
  // slice[k·columns + c] = w[c·stride + k], c < count ≤ columns, k < depth; 0 for other c.
  std::array<void (*)(const void* w, std::int64_t stride, std::int64_t count, std::int64_t depth, float* slice),
             kFormats>
      pack;
  // slice[k·columns + c] = w[k·stride + c], likewise: weights that lie as (inputs, outputs).
  std::array<void (*)(const void* w, std::int64_t stride, std::int64_t count, std::int64_t depth, float* slice),
             kFormats>
      pack_transposed;
  // y[m·y_stride + c] = start[c] + Σ_k strip[k·rows + m] · slice[k·columns + c], m < count ≤ rows, all c; += where
  // `start` is null. Terms in ascending k.
  void (*tile)(const float* strip, const float* slice, std::int64_t depth, std::int64_t count, const float* start,
               float* y, std::int64_t y_stride);
  // y[t·y_stride + n] += Σ_k x[t·x_stride + k] · w[n·stride + k], t < tokens ≤ kMaxTokens, n < outputs.
  std::array<void (*)(const void* w, std::int64_t stride, std::int64_t outputs, const float* x, std::int64_t x_stride,
                      std::int64_t tokens, std::int64_t depth, float* y, std::int64_t y_stride),
             kFormats>
      dot;
  // y[t·y_stride + n] += Σ_k x[t·x_stride + k] · w[k·stride + n], likewise.
  std::array<void (*)(const void* w, std::int64_t stride, std::int64_t outputs, const float* x, std::int64_t x_stride,
                      std::int64_t tokens, std::int64_t depth, float* y, std::int64_t y_stride),
             kFormats>
      axpy;
  // What multiplies many tokens instead of tile(); null: nothing does.
  const MatrixTiles* tiles = nullptr;
  // What multiplies many tokens as integers, where Weights::fast asks for it and there are no `tiles`; null: nothing.
  const IntegerTiles* integers = nullptr;
};

// The kernels of one of the versions that this CPU can run; with `tiles`, AVX-512's and those of matrix_tiles.h
// (core/base/instruction_sets.h).
const Kernels& kernels(std::int64_t version = used_version(), bool tiles = used_tiles());

}  // namespace locus::products
