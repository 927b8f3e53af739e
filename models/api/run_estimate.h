// Estimates of a run's time and memory, all that it needs counted, and of the time that is left.
#pragma once

#include <cstdint>

#include "models/api/model.h"

namespace locus::models {

// estimate(), whose memory includes the weights, of a run that takes over `taken_over` tokens at the beginning from
// another: their time is not counted. Nothing is run for it.
Estimate run_estimate(const Model& model, std::int64_t length, const RunOptions& options, std::int64_t taken_over = 0);

// Costs of the pictures of a text beside its tokens, time and memory: tower and connector, for those that were not
// seen just before. Nothing without pictures, for other models, and where they cannot be read, which run() says.
Estimate pictures_estimate(const Model& model, const Input& input, const RunOptions& options);

// A run's estimate with that of its pictures; whether both fit together.
Estimate with_pictures(Estimate run, const Estimate& pictures);

// Estimates the rest of work that was expected to take `expected_ms` and has taken `elapsed_ms` for a `fraction` of it,
// in milliseconds. From the first parts that are done, `sure` of the whole together, what they took counts the more the
// more of them there is; then it counts alone.
double left_ms(double expected_ms, double fraction, double elapsed_ms, double sure);

}  // namespace locus::models
