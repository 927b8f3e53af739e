// The root-mean-square norm of rows in one loop. ATen needs five calls for it; of a single token each of them takes
// longer than its numbers do.
#pragma once

#include <ATen/ATen.h>

namespace locus::products {

// y = x / √(mean x² + eps) · weight over the last dimension of x (…, C); `weight` (C) may be undefined. float32 on the
// CPU outside gradients by one loop, whose sums have sixteen parts; everything else by ATen's operations.
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps);

}  // namespace locus::products
