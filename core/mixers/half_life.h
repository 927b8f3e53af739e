// How long a state lasts.
#pragma once

#include <ATen/ATen.h>

#include <tuple>

namespace locus::mixers {

// ln ½ / g of every log decay; +∞ of 0.
inline at::Tensor half_lives(const at::Tensor& log_decay) {
  constexpr double kLn2 = 0.693147180559945309;
  return kLn2 / log_decay.abs();
}

// Over the last dimension; the lower one of two in the middle.
inline at::Tensor median_of(const at::Tensor& half_lives) {
  return std::get<0>(half_lives.median(-1));
}

}  // namespace locus::mixers
