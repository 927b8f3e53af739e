// What logits (R, V) of two runs over one input differ by.
#pragma once

#include <ATen/ATen.h>

namespace locus::models {

// The mean over rows of −log p(the next row's id), nats; `ids` (R) int64, R ≥ 2.
double mean_loss(const at::Tensor& logits, const at::Tensor& ids);

// The mean over rows of KL(first ‖ second), nats, in float64.
double mean_divergence(const at::Tensor& first, const at::Tensor& second);

}  // namespace locus::models
