// What FoX and PaTH-FoX share: gates of the tokens, whose logarithms between key and query are summed.
#pragma once

#include <ATen/ATen.h>

#include "core/position/position_encoding.h"

namespace locus::position {

// The logarithms (B, H, T, 1) of a layer's gates, with those of Prepared::given_gates in the place of their own.
at::Tensor gates_with_given(const at::Tensor& log_gates, const at::Tensor& given);

// (B, h, R, K) D_ij = Σ_{l=j+1..i} of the logarithms (B, H, T, 1), in the type of `like`. Sums are float64.
at::Tensor forgotten(const at::Tensor& log_gates, const Tile& tile, const at::Tensor& like);

}  // namespace locus::position
