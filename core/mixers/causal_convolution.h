// Short causal convolution: every channel by itself sees its last K inputs.
//
// Letters of this folder: B batch, H heads, T tokens, D key width, P value width, C channels, N states of a channel,
// K kernel. Everything is a differentiable ATen expression on the CPU, float32 or float64. A state is what a later call
// continues from: undefined before the first token; a call replaces it and leaves the tensor it was given as it is.
#pragma once

#include <ATen/ATen.h>

namespace locus::mixers {

// (B, T, C) y_t = bias + Σ_k weight[K−1−k] x_{t−k}, for k of 0 … K−1. x (B, T, C), weight (C, K), bias (C) or undefined,
// state (B, K−1, C): the inputs before x (undefined: zeros), afterwards those before the next token.
at::Tensor causal_convolution(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, at::Tensor& state);

}  // namespace locus::mixers
