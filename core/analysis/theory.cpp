#include "core/analysis/theory.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "core/position/shared/rotation.h"

namespace locus::analysis {

namespace {

constexpr double kTurn = 2 * std::numbers::pi;

// The two channels of every pair: (n, D/2) each.
std::pair<at::Tensor, at::Tensor> channels(const at::Tensor& x, position::PairLayout layout) {
  const std::int64_t half = x.size(1) / 2;
  if (layout == position::PairLayout::kHalf) {
    return {x.slice(1, 0, half), x.slice(1, half)};
  }
  if (layout == position::PairLayout::kSwapped) {
    return {x.slice(1, half), x.slice(1, 0, half)};
  }
  if (layout == position::PairLayout::kAxes) {
    const at::Tensor axes = x.unflatten(1, {2, 2, half / 2});
    return {axes.select(2, 0).flatten(1), axes.select(2, 1).flatten(1)};
  }
  return {x.slice(1, 0, x.size(1), 2), x.slice(1, 1, x.size(1), 2)};
}

double mean_cosine(double turns, std::int64_t phase_width, double deviation_product) {
  const double width = static_cast<double>(phase_width);
  const double t = kTurn * turns * deviation_product / std::sqrt(width);
  return std::exp(-width / 2 * std::log1p(t * t));
}

double power(double distance, double alpha) {
  return distance == 0 ? 0.0 : std::pow(std::abs(distance), alpha);
}

}  // namespace

std::string label(AngleConvention convention) {
  return convention == AngleConvention::kLlama ? "LLaMA: λθ" : "paper: 2πλθ";
}

Result<std::vector<RopeMoments>> rope_pair_moments(const at::Tensor& query, const at::Tensor& key,
                                                   position::PairLayout layout) {
  if (query.dim() != 2 || query.sizes() != key.sizes() || query.size(0) == 0 || query.size(1) == 0 ||
      query.size(1) % 2 != 0) {
    return bad_input("moments of RoPE: expected queries and keys of one shape (n, D), n above 0 and D even, found " +
                     std::to_string(query.dim()) + " and " + std::to_string(key.dim()) + " dimensions of " +
                     std::to_string(query.numel()) + " and " + std::to_string(key.numel()) + " numbers");
  }
  const auto [q0, q1] = channels(query.to(at::kDouble), layout);
  const auto [k0, k1] = channels(key.to(at::kDouble), layout);
  const at::Tensor mu = (q0 * k0 + q1 * k1).mean(0).contiguous();
  const at::Tensor nu = (q0 * k1 - q1 * k0).mean(0).contiguous();
  std::vector<RopeMoments> moments;
  for (std::int64_t d = 0; d < mu.size(0); ++d) {
    moments.push_back({mu.data_ptr<double>()[d], nu.data_ptr<double>()[d]});
  }
  return moments;
}

Result<RopeMoments> rope_moments(const at::Tensor& query, const at::Tensor& key, position::PairLayout layout) {
  LOCUS_TRY(const std::vector<RopeMoments> own, rope_pair_moments(query, key, layout));
  RopeMoments mean;
  for (const RopeMoments& pair : own) {
    mean.mu += pair.mu / static_cast<double>(own.size());
    mean.nu += pair.nu / static_cast<double>(own.size());
  }
  return mean;
}

std::vector<double> rope_mean_scores(const std::vector<double>& distances, const RopeMoments& moments,
                                     std::int64_t head_width, double base, AngleConvention convention) {
  std::vector<double> scores;
  for (const double distance : distances) {
    const RopeSums sums = rope_sums(distance, head_width, base, convention);
    scores.push_back(std::sqrt(static_cast<double>(head_width)) * (moments.mu * sums.cosine + moments.nu * sums.sine));
  }
  return scores;
}

std::vector<double> rope_mean_scores(const std::vector<double>& distances, const std::vector<RopeMoments>& moments,
                                     std::int64_t head_width, double base, AngleConvention convention) {
  const double width = static_cast<double>(head_width);
  std::vector<double> scores;
  for (const double distance : distances) {
    const double turn = turn_of(distance, convention);
    double sum = 0;
    for (std::size_t d = 0; d < moments.size(); ++d) {
      const double angle = turn * std::pow(base, -2.0 * static_cast<double>(d) / width);
      sum += moments[d].mu * std::cos(angle) + moments[d].nu * std::sin(angle);
    }
    scores.push_back(sum / std::sqrt(width));
  }
  return scores;
}

double rope_reach(const RopeMoments& moments, std::int64_t head_width) {
  return std::sqrt(static_cast<double>(head_width)) / 2 * std::hypot(moments.mu, moments.nu);
}

double tapa_mean_cosine(double distance, double alpha, std::int64_t phase_width, double deviation_product) {
  return mean_cosine(power(distance, alpha), phase_width, deviation_product);
}

std::vector<double> tapa_mean_scores(const std::vector<double>& distances, double alpha, std::int64_t phase_width,
                                     double mean_amplitude, double deviation_product) {
  std::vector<double> scores;
  for (const double distance : distances) {
    scores.push_back(mean_amplitude * tapa_mean_cosine(distance, alpha, phase_width, deviation_product));
  }
  return scores;
}

double tapa_variance(double distance, double alpha, std::int64_t phase_width, double mean_amplitude,
                     double mean_squared_amplitude, double deviation_product) {
  const double once = mean_cosine(power(distance, alpha), phase_width, deviation_product);
  const double twice = mean_cosine(2 * power(distance, alpha), phase_width, deviation_product);
  return mean_squared_amplitude * (1 + twice) / 2 - mean_amplitude * once * mean_amplitude * once;
}

}  // namespace locus::analysis
