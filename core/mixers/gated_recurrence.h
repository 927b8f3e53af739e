// Recurrence of the RG-LRU (De et al. 2024, arXiv 2402.19427). Letters: causal_convolution.h.
#pragma once

#include <ATen/ATen.h>

namespace locus::mixers {

struct RecurrenceInputs {
  at::Tensor input;      // (B, T, C) x, with the input gate and √(1 − a²) in it
  at::Tensor log_decay;  // (B, T, C) g = ln a ≤ 0
};

// (B, T, C) h_t = e^{g_t} h_{t−1} + x_t. state (B, C) h.
at::Tensor gated_recurrence(const RecurrenceInputs& inputs, at::Tensor& state);

}  // namespace locus::mixers
