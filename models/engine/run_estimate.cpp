#include "models/api/run_estimate.h"

#include <algorithm>

#include "models/engine/loaded_model.h"
#include "models/remote/client/there.h"

namespace locus::models {

Estimate run_estimate(const Model& model, std::int64_t length, const RunOptions& options, std::int64_t taken_over) {
  Estimate estimate = model.estimate(length, options);
  estimate.memory_mb += estimate.weights_mb;
  if (taken_over > 0) {
    estimate.time_ms = std::max(estimate.time_ms - model.estimate(taken_over, options).time_ms, 0.0);
  }
  return estimate;
}

Estimate pictures_estimate(const Model& model, const Input& input, const RunOptions& options) {
  if (input.images.empty() && !input.pixels) {
    return {};
  }
  if (const auto answer = remote::there<&pictures_estimate>(model, input, options)) {
    return *answer;
  }
  const LoadedModel* const loaded = loaded_model_of(model);
  return loaded != nullptr ? loaded->estimate_pictures(input, options) : Estimate();
}

Estimate with_pictures(Estimate run, const Estimate& pictures) {
  const double beside_weights = run.memory_mb - run.weights_mb + pictures.memory_mb;
  run.fits = run.fits && (run.available_mb <= 0 || beside_weights <= run.available_mb);
  run.memory_mb += pictures.memory_mb;
  run.time_ms += pictures.time_ms;
  return run;
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
