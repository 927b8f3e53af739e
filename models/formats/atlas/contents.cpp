#include "models/formats/atlas/contents.h"

#include <algorithm>
#include <cmath>

#include "core/base/numbers.h"

namespace locus::models::atlas {

std::string samples_of(const std::string& statistic) {
  if (statistic == "heads.induction" || statistic == std::string(kOfMixers) + "heads.induction") {
    return "repeats";
  }
  return statistic.starts_with("retrieval.") || statistic.starts_with("spans.") ? "needles" : "windows";
}

std::string samples_name(const std::string& samples, AtlasNull null) {
  return (null == AtlasNull::kShuffled ? "null." : "") + samples;
}

std::string tensor_name(const TableName& name) {
  const std::string place = name.layer == kAtlasOfModel ? "model." : "layers." + std::to_string(name.layer) + ".";
  return (name.null == AtlasNull::kShuffled ? "null." : "") + place + name.statistic;
}

namespace {

constexpr double kTail = 0.025;

// The value at rank (R + 1)·q of R sorted numbers, ranks from 1 on, linear between them.
double order_statistic(const std::vector<double>& sorted, double q) {
  const auto count = static_cast<double>(sorted.size());
  const double rank = std::clamp(q * (count + 1), 1.0, count) - 1;
  const auto below = static_cast<std::size_t>(rank);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (rank - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

double deviation(double sum, double squares, double samples) {
  const double mean = sum / samples;
  const double variance = (squares / samples - mean * mean) * samples / (samples - 1);
  return samples > 1 && !std::isnan(mean) ? std::sqrt(std::max(variance, 0.0)) : kNaN;
}

Interval bootstrap_interval(const float* replicates, std::size_t entries, std::size_t entry,
                            const SampleCount& samples) {
  std::vector<double> means;
  for (std::size_t b = 0; b < samples.replicates.size(); ++b) {
    const double mean = static_cast<double>(replicates[b * entries + entry]) / samples.replicates[b];
    if (std::isfinite(mean)) {
      means.push_back(mean);  // a replicate without samples has no mean
    }
  }
  if (samples.count < 2 || means.size() < 2) {
    return {kNaN, kNaN};
  }
  std::sort(means.begin(), means.end());
  return {order_statistic(means, kTail), order_statistic(means, 1 - kTail)};
}

}  // namespace locus::models::atlas
