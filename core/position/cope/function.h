// CoPE's interpolation for training: one pass over every row forward and one backward, instead of twenty operations on
// whole maps and what they keep.
#pragma once

#include <utility>

#include "core/position/cope/tile.h"

namespace locus::position {

// Whether learned_cope() can make this tile: on the CPU, float32 or float64, from a table.
bool cope_function_applies(const CopeTile& work);

// Logits (B, h, R, K) and carry (B, h, R) of a tile, as differentiable_cope()'s up to rounding, differentiable in
// content, Shaw's term, gate logits, table and carry. Columns right of a row's own token have logit 0 and no gradient:
// they are hidden by the model's mask. Not twice differentiable.
std::pair<at::Tensor, at::Tensor> learned_cope(const CopeTile& work, const Tile& tile);

}  // namespace locus::position
