// Delta rule with decay: a token first takes what its key reads out of the state, then writes its value in that place.
// Gated delta net (Yang et al. 2024, arXiv 2412.06464) has a decay per head and token, Kimi delta attention (arXiv
// 2510.26692) one per channel of the key besides. Letters: causal_convolution.h.
#pragma once

#include <ATen/ATen.h>

namespace locus::mixers {

struct DeltaInputs {
  at::Tensor query;      // (B, H, T, D), scaled
  at::Tensor key;        // (B, H, T, D), of length one or shorter: others may diverge
  at::Tensor value;      // (B, H, T, P)
  at::Tensor beta;       // (B, H, T), 0 … 2
  at::Tensor log_decay;  // (B, H, T), or (B, H, T, D) by channel; g ≤ 0, −∞ too
};

// (B, H, T, P) y_t = S_tᵀ q_t, S_t = S' + k_t ⊗ β_t (v_t − S'ᵀ k_t), S' = e^{g_t} S_{t−1}. By chunks of 64 tokens,
// within which the corrections u = β (v − Sᵀk) solve (I + tril(diag(β) (K Kᵀ ∘ W), −1)) u = β (v − e^c k S),
// W_ij = e^{c_i − c_j}, c = Σ g. No exponent is positive, so strong decays lose nothing. state (B, H, D, P) S.
at::Tensor delta_rule(const DeltaInputs& inputs, at::Tensor& state);

}  // namespace locus::mixers
