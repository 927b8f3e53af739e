// What logits (R, V) of two runs over one input differ by.
#pragma once

#include <ATen/ATen.h>

namespace locus::models {

// −log p(the next row's id) of every row but the last, nats, (R − 1) float64; `ids` (R) int64, R ≥ 2.
at::Tensor token_losses(const at::Tensor& logits, const at::Tensor& ids);

// Their mean.
double mean_loss(const at::Tensor& logits, const at::Tensor& ids);

// The mean over rows of KL(first ‖ second), nats, in float64.
double mean_divergence(const at::Tensor& first, const at::Tensor& second);

}  // namespace locus::models
