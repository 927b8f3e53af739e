// RoPE's sums by distance (Wang et al. 2025, arXiv:2509.12635, Eq. 24), without tensors.
//
// Letters: λ = i − j a distance in tokens, D head width, θ_d = base^(−2d/D).
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace locus::analysis {

// How far pair d turns over a distance λ.
enum class AngleConvention {
  kLlama,  // λ·θ_d
  kPaper,  // 2π·λ·θ_d
};

// The turn by distance, in units of θ.
inline double turn_of(double distance, AngleConvention convention) {
  return distance * (convention == AngleConvention::kPaper ? 2 * std::numbers::pi : 1.0);
}

// C_D(λ) = 1/D Σ_{d<D/2} cos(angle) and S_D(λ) with sin (Eq. 24); both within ±1/2.
struct RopeSums {
  double cosine = 0;
  double sine = 0;
};
inline RopeSums rope_sums(double distance, std::int64_t head_width, double base, AngleConvention convention) {
  const double turn = turn_of(distance, convention);
  const double width = static_cast<double>(head_width);
  RopeSums sums;
  for (std::int64_t d = 0; d < head_width / 2; ++d) {
    const double angle = turn * std::pow(base, -2.0 * static_cast<double>(d) / width);
    sums.cosine += std::cos(angle) / width;
    sums.sine += std::sin(angle) / width;
  }
  return sums;
}

}  // namespace locus::analysis
