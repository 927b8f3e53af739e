// Many tokens times rows of blocks by integers of 14 bits, which Weights::fast asks for: one step multiplies pairs of
// inputs, twice as many numbers as a step of float32. Tokens and weights are quantised alike, groups of 32 of either to
// whole numbers −8191 … 8191 times a step of its own; sums within a group are exact, in 32 bits (32 · 8191² < 2³¹), and
// groups are added up in float32.
//
// Error: |y − Σ w·x| ≤ Σ over groups of (x_step / 2)·Σ |w| + (w_step / 2)·Σ |x| + 8·x_step·w_step, with
// step = max / 8191, but for float32's rounding: 1e-5 of Σ |w·x|.
#pragma once

#include <array>
#include <cstdint>

#include "core/products/block_kernels.h"

namespace locus::products {

constexpr float kLargestInteger = 8191;
constexpr std::int64_t kIntegerGroup = 32;                   // inputs that share a step
constexpr std::int64_t kGroupPairs = kIntegerGroup / 2;      // of its inputs
using IntegerPairs = std::array<std::int32_t, kGroupPairs>;  // the group's whole numbers, each pair low half first

// As Kernels::tile, of numbers in pairs of inputs. Strips and slices are (groups, kGroupPairs, rows) and (groups,
// kGroupPairs, columns) pairs, their steps (groups, rows) and (groups, columns).
struct IntegerTiles {
  std::int64_t rows;
  std::int64_t columns;

  // x (kIntegerGroup) in whole numbers, to the nearest, ties to even. Returns their step: NaN where a number is not finite,
  // 0, as all numbers are, where it would be denormal.
  float (*round)(const float* x, IntegerPairs& integers);
  // slice[p·columns + c] = integers[c·stride][p] for all c and p.
  void (*pack)(const IntegerPairs* integers, std::int64_t stride, std::int32_t* slice);
  // y[m·y_stride + c] = start[c] + Σ_g strip_steps[g·rows + m] · slice_steps[g·columns + c] · Σ_k x_gk · w_gk,
  // m < count ≤ rows, all c; += where `start` is null. Terms in ascending g.
  void (*tile)(const std::int32_t* strip, const float* strip_steps, const std::int32_t* slice, const float* slice_steps,
               std::int64_t groups, std::int64_t count, const float* start, float* y, std::int64_t y_stride);
};

// The tiles of a version of the kernels (core/base/instruction_sets.h), with its rows and columns; null for the plain one.
// With `pair_products`, AVX-512's multiply pairs and add up in one step.
const IntegerTiles* integer_tiles(std::int64_t version = used_version(), bool pair_products = has_byte_products());

}  // namespace locus::products
