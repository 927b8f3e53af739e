// Positions of a text with pictures in it as designs other than the model's own give them. The weights stay, and so does
// which pair turns with which component.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "models/api/model.h"
#include "models/edits/position_design.h"

namespace locus::models {

// (T, 3) float64 of `length` tokens, words counted from `start` on. Errors: kBadInput without pictures; kUnsupported for
// pictures in tiles, with ends of rows, or of no known grid.
Result<at::Tensor> designed_positions(const PositionDesign& design, const std::vector<ImageSpan>& pictures,
                                      std::int64_t length, double start);

}  // namespace locus::models
