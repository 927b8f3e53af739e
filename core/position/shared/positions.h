// Positions: where each token of a sequence (or patch of an image) stands.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

#include "core/base/range.h"

namespace locus::position {

// The position ids of T tokens, shared by a batch. Ids are float64: interpolation makes them fractional, and float32 or
// bf16 grids would round them (float32 angles are off by 1e-3 at position 131,071).
struct Positions {
  at::Tensor ids;           // (T) float64; or (T, 2) float64 as (row, column) of an image's patch grid
  std::int64_t prefix = 0;  // the first `prefix` tokens have no position (CLS, registers); their ids are 0
  std::int64_t suffix = 0;  // likewise the last `suffix` tokens (detection tokens)

  // start, start + 1, … (T)
  static Positions sequence(std::int64_t length, double start = 0);
  // A rows × columns grid, row by row, between `prefix` and `suffix` tokens without position (T = prefix + rows·columns +
  // suffix, 2).
  static Positions grid(std::int64_t rows, std::int64_t columns, std::int64_t prefix = 1, std::int64_t suffix = 0);

  std::int64_t size() const { return ids.size(0); }
  // Tokens with a position.
  Range placed() const { return {prefix, size() - suffix}; }
  std::int64_t dimensions() const { return ids.dim() == 2 ? ids.size(1) : 1; }
  // The tokens [range.begin, range.end).
  Positions slice(Range range) const;
};

}  // namespace locus::position
