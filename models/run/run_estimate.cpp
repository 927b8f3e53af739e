#include "models/api/run_estimate.h"

#include <algorithm>

namespace locus::models {

Estimate run_estimate(const Model& model, std::int64_t length, const RunOptions& options, std::int64_t taken_over) {
  Estimate estimate = model.estimate(length, options);
  estimate.memory_mb += estimate.weights_mb;
  if (taken_over > 0) {
    estimate.time_ms = std::max(estimate.time_ms - model.estimate(taken_over, options).time_ms, 0.0);
  }
  return estimate;
}

double left_ms(double expected_ms, double fraction, double elapsed_ms, double sure) {
  if (fraction <= 0) {
    return std::max(expected_ms - elapsed_ms, 0.0);
  }
  const double trust = sure > 0 ? std::min(fraction / sure, 1.0) : 1;
  const double seen = elapsed_ms / fraction;
  return ((1 - trust) * std::max(expected_ms, elapsed_ms) + trust * seen) * (1 - std::min(fraction, 1.0));
}

}  // namespace locus::models
