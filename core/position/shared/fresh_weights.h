// Weights of layers that no training has touched.
#pragma once

#include <ATen/ATen.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "core/position/shared/initial.h"

namespace locus::position {

// A new linear layer's weights: uniform in ±1/√inputs.
inline at::Tensor uniform(at::IntArrayRef sizes, std::int64_t inputs) {
  return (at::rand(sizes) * 2 - 1) / std::sqrt(static_cast<double>(inputs));
}

// Normal with mean 0, zeros and ones, as initial() gives them.
inline at::Tensor normal(const std::vector<std::int64_t>& sizes, double deviation) {
  return initial(sizes, [&] { return at::randn(sizes) * deviation; });
}
inline at::Tensor zeros(const std::vector<std::int64_t>& sizes) {
  return initial(sizes, [&] { return at::zeros(sizes); });
}
inline at::Tensor ones(const std::vector<std::int64_t>& sizes) {
  return initial(sizes, [&] { return at::ones(sizes); });
}

}  // namespace locus::position
