// Random Fourier features: positions as cos and sin at random frequencies, an initial state for TAPE
// (Zhu et al. 2025, App. B.2; Rahimi and Recht 2007).
//
// A shift of all positions turns every (cos, sin) pair by one angle, so inner products over R depend on i − j alone.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

#include "core/base/result.h"

namespace locus::position {

// M blocks of L rows and R columns a position.
struct FourierShape {
  std::int64_t blocks = 1;   // M
  std::int64_t rows = 1;     // L
  std::int64_t columns = 2;  // R, even
};

// The random draw: fixed by the seed, kept with the model.
struct FourierFeatures {
  at::Tensor frequencies;  // θ (M, R/2) float64, Gaussian of standard deviation `bandwidth`
  at::Tensor weights;      // w (M, L, R/2) float64, Gaussian of standard deviation 1 (or all 1)

  // Errors: kBadInput for a size below 1, an odd R, or a bandwidth that is not positive.
  static Result<FourierFeatures> sample(const FourierShape& shape, double bandwidth, bool reweighted,
                                        std::uint64_t seed);

  // e_{i,m,l} = √(2/R)·[… w_{m,l,r} cos(θ_{m,r} i), w_{m,l,r} sin(θ_{m,r} i) …]: ids (T) -> (T, M, L, R) float64.
  at::Tensor at_positions(const at::Tensor& ids) const;
};

}  // namespace locus::position
