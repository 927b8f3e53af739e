// Biases that depend on the distance Δ alone: T5, ALiBi, Kerple. A tile of consecutive positions holds only R + K − 1
// distances, so the function is evaluated that often and laid out along the diagonals.
#pragma once

#include <ATen/ATen.h>

#include <functional>

#include "core/position/position_encoding.h"

namespace locus::position {

// (n) float64 distances Δ -> (h, n) biases of the tile's heads.
using DistanceFunction = std::function<at::Tensor(const at::Tensor& distances)>;

// The distinct distances of a tile whose ids grow by one common step: (R + K − 1) float64, descending, so that row r is
// entries [R−1−r, R−1−r+K). Undefined when the ids are not like that.
at::Tensor diagonal_distances(const Positions& positions, const Tile& tile);

// (…, R + K − 1) values along the diagonals, as diagonal_distances() orders them -> (…, R, K).
at::Tensor from_diagonals(const at::Tensor& values, std::int64_t rows, std::int64_t columns);

// (h, R, K) of f(Δ).
at::Tensor distance_map(const Positions& positions, const Tile& tile, const DistanceFunction& f);

// logits (B, h, R, K) + f(Δ). Writes into `logits` where no gradient is needed and `overwrite` allows it.
at::Tensor add_bias(const at::Tensor& logits, const Positions& positions, const Tile& tile, const DistanceFunction& f,
                    bool overwrite);

// Whether the fused loops of tile_kernels.h may handle a tile made from `logits`: float32 on the CPU without gradient.
bool kernels_apply(const at::Tensor& logits);

// score() of bias encodings: score() = q·k·scale + bias(Δ), content = q·k·scale.
TileScores score_with_bias(const PositionEncoding& encoding, const Prepared& prepared, const Tile& tile,
                           const Wanted& wanted, const DistanceFunction& f);

}  // namespace locus::position
