// Selective state space of Mamba-1 (Gu & Dao 2023, arXiv 2312.00752). Letters: causal_convolution.h.
#pragma once

#include <ATen/ATen.h>

namespace locus::mixers {

struct ScanInputs {
  at::Tensor x;                 // (B, T, C)
  at::Tensor delta;             // (B, T, C) Δ ≥ 0
  at::Tensor log_rate;          // (C, N) A < 0
  at::Tensor input;             // (B, T, N) B of the paper
  at::Tensor output;            // (B, T, N) C of the paper
  at::Tensor skip;              // (C) D of the paper, or undefined
  at::Tensor decay_delta = {};  // (B, T, C) Δ of the decay where it is another one than the write's, or undefined
};

// (B, T, C) y_t = s_t C_t + D x_t, s_t = e^{Δ_t A} s_{t−1} + Δ_t x_t B_t. state (B, C, N) s.
at::Tensor selective_scan(const ScanInputs& inputs, at::Tensor& state);

}  // namespace locus::mixers
