// What runs over one input predict: losses without holding logits (R, V), and differences of two runs.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "models/api/model.h"
#include "models/experiments/output_sums.h"

namespace locus::models {

// The outputs of the tokens `first` … of a run with RunOptions::before_head; `next` are the tokens after them, each the
// own output of its row. `what` begins the error kUnsupported for a run that did not keep what the head reads. Other
// errors: output_sums()'s. Precondition: 0 ≤ first, first + size of `next` ≤ T.
Result<OutputSums> next_token_sums(const Model& model, const Trace& trace, std::int64_t first,
                                   const std::vector<std::int64_t>& next, const std::string& what,
                                   const StopToken& stop);
// −log p of each of `next`, nats.
Result<std::vector<double>> next_token_losses(const Model& model, const Trace& trace, std::int64_t first,
                                              const std::vector<std::int64_t>& next, const std::string& what,
                                              const StopToken& stop);

// Puts NaN where a cell of one of the pictures is predicted into losses (R − 1).
void leave_out_cells(const std::vector<ImageSpan>& pictures, double* losses, std::int64_t count);

// The mean over rows of KL(first ‖ second), nats, in float64.
double mean_divergence(const at::Tensor& first, const at::Tensor& second);

}  // namespace locus::models
