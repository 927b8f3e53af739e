// products.h for tensors: what a layer calls, whatever its weights are stored as.
#pragma once

#include <ATen/ATen.h>

#include <vector>

namespace locus::products {

// y = x·Wᵀ + b of x (…, K) float32, W (N, K) of any strides, b (N) or undefined: (…, N) float32. 16-bit W on the CPU
// and those in blocks (packed.h) are read as they are (products.h); on another device x and b are rounded to a 16-bit
// W's type. A gradient through x, and x of another type, convert W for the call; W of x's own type is ATen's linear, but
// for float32 on a CPU with AVX2 or with at most kMaxTokens tokens.
at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias = {});

struct Matrix {
  at::Tensor weight;  // (N, K)
  at::Tensor bias;    // (N) or undefined
};

// linear() of the same x with several matrices of the same K: the same values. Of one token, the products of weights
// that are read as they are run side by side (multiply_token() of products.h).
std::vector<at::Tensor> linears(const at::Tensor& x, at::ArrayRef<Matrix> matrices);

// The rows `ids` (any shape, on any device) of W (V, K), those of a 16-bit W and of one in blocks as float32: (…, K).
at::Tensor rows(const at::Tensor& weight, const at::Tensor& ids);

// The rows `ids` (n) of W (V, K) as they are stored, 16-bit or in blocks: linear() gives the same outputs with them.
at::Tensor stored_rows(const at::Tensor& weight, const at::Tensor& ids);

// Whether `weight` is of a 16-bit type, or in blocks, which linear() reads as they are.
bool is_stored(const at::Tensor& weight);

// Whether every number of `weight`, of any floating-point type, is finite. Nothing of its size is allocated.
bool all_finite(const at::Tensor& weight);

}  // namespace locus::products
