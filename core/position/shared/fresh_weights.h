// Weights of layers that no training has touched.
#pragma once

#include <ATen/ATen.h>

#include <cmath>
#include <cstdint>

namespace locus::position {

// A new linear layer's weights: uniform in ±1/√inputs.
inline at::Tensor uniform(at::IntArrayRef sizes, std::int64_t inputs) {
  return (at::rand(sizes) * 2 - 1) / std::sqrt(static_cast<double>(inputs));
}

}  // namespace locus::position
