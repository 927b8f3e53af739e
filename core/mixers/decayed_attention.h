// Linear attention whose state decays by one number per head and token: Mamba-2's SSD (Dao & Gu 2024, arXiv
// 2405.21060), lightning attention, RetNet. Letters: causal_convolution.h.
#pragma once

#include <ATen/ATen.h>

namespace locus::mixers {

struct DecayedInputs {
  at::Tensor query;      // (B, H, T, D)
  at::Tensor key;        // (B, H, T, D)
  at::Tensor value;      // (B, H, T, P)
  at::Tensor log_decay;  // (B, H, T) g ≤ 0
};

// (B, H, T, P) y_t = S_tᵀ q_t, S_t = e^{g_t} S_{t−1} + k_t v_tᵀ. By chunks of 64 tokens: linear in T, and one token
// costs what the recurrence costs. state (B, H, D, P) S.
at::Tensor decayed_attention(const DecayedInputs& inputs, at::Tensor& state);

}  // namespace locus::mixers
