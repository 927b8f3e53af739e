// Differences of the logits (R, V) of two runs over one input.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "models/api/model.h"

namespace locus::models {

// −log p(the next row's id) of every row but the last, nats, (R − 1) float64; `ids` (R) int64, R ≥ 2. NaN where the
// next row is a cell of one of the pictures: nobody predicts those.
at::Tensor token_losses(const at::Tensor& logits, const at::Tensor& ids, const std::vector<ImageSpan>& pictures = {});

// Their mean, of those that are numbers; NaN where none is.
double mean_loss(const at::Tensor& logits, const at::Tensor& ids, const std::vector<ImageSpan>& pictures = {});

// Puts NaN where a cell of one of the pictures is predicted into losses (R − 1).
void leave_out_cells(const std::vector<ImageSpan>& pictures, double* losses, std::int64_t count);

// The mean over rows of KL(first ‖ second), nats, in float64.
double mean_divergence(const at::Tensor& first, const at::Tensor& second);

}  // namespace locus::models
