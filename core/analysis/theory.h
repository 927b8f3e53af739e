// Mean scores at a distance as the theory of TAPA predicts them (Wang et al. 2025, arXiv:2509.12635, §2, §3, App. C).
//
// Letters: λ = i − j a distance in tokens, D head width, θ_0 = 1/base.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/analysis/rope_sums.h"
#include "core/base/result.h"

namespace at {
class Tensor;
}
namespace locus::position {
enum class PairLayout;
}

namespace locus::analysis {

// "LLaMA: λθ" and "paper: 2πλθ", as curves are labelled.
std::string label(AngleConvention convention);

// μ₀ and ν₀ (Eq. 4, 5): the means over pairs of channels and samples of
// A_d = q_{2d}k_{2d} + q_{2d+1}k_{2d+1} and B_d = q_{2d}k_{2d+1} − q_{2d+1}k_{2d}.
struct RopeMoments {
  double mu = 0;
  double nu = 0;
};
// From n samples of unrotated query and key, (n, D) each, row with row; `layout` names the channels of a pair. Errors:
// kBadInput for shapes that differ, no sample or an odd width.
Result<RopeMoments> rope_moments(const at::Tensor& query, const at::Tensor& key, position::PairLayout layout);
// μ_d and ν_d of each pair for itself, D/2 of them: without Assumption 2.1, which has one μ₀ and ν₀ for all.
Result<std::vector<RopeMoments>> rope_pair_moments(const at::Tensor& query, const at::Tensor& key,
                                                   position::PairLayout layout);

// E[logit] = √D·(μ₀·C_D(λ) + ν₀·S_D(λ)) at every distance.
std::vector<double> rope_mean_scores(const std::vector<double>& distances, const RopeMoments& moments,
                                     std::int64_t head_width, double base, AngleConvention convention);

// E[logit] = 1/√D Σ_d (μ_d cos(angle) + ν_d sin(angle)): the same with moments of each pair's own.
std::vector<double> rope_mean_scores(const std::vector<double>& distances, const std::vector<RopeMoments>& moments,
                                     std::int64_t head_width, double base, AngleConvention convention);

// Theorem 2.1: what E[logit] comes near to, far out, is anything within ± √D/2·√(μ₀² + ν₀²).
double rope_reach(const RopeMoments& moments, std::int64_t head_width);

// E[cos(2π λ^α q_P·k_P/√d)] = (1 + (2π λ^α s/√d)²)^(−d/2) for independent Gaussian q_P and k_P of width d = (1−θ)D with
// s the product of their standard deviations; 1 at λ = 0. The bound of Theorem 3.2 falls with the same power of λ.
double tapa_mean_cosine(double distance, double alpha, std::int64_t phase_width, double deviation_product = 1.0);

// E[logit] = E[amplitude]·E[cos] for amplitudes independent of the phase.
std::vector<double> tapa_mean_scores(const std::vector<double>& distances, double alpha, std::int64_t phase_width,
                                     double mean_amplitude, double deviation_product = 1.0);

// Var[logit] = E[amplitude²]·(1 + E[cos 2·])/2 − (E[amplitude]·E[cos])²; its limit E[amplitude²]/2 is the bound of
// Theorem 3.3.
double tapa_variance(double distance, double alpha, std::int64_t phase_width, double mean_amplitude,
                     double mean_squared_amplitude, double deviation_product = 1.0);

}  // namespace locus::analysis
