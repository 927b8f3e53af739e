// One tile of CoPE: from gate logits to positions to logits, differentiable or in one fused pass over each row.
#pragma once

#include <ATen/ATen.h>

#include <limits>

#include "core/position/position_encoding.h"

namespace locus::position {

// CoPE_MLP's network of one number, its output already multiplied with the queries.
struct CopeNetwork {
  at::Tensor weight;        // (N) first layer
  at::Tensor bias;          // (N)
  at::Tensor query_output;  // (B, h, R, N) q_i·W2
  at::Tensor query_bias;    // (B, h, R) q_i·b2
};

// Inputs of a tile. Exactly one of table, network and slopes is set.
struct CopeTile {
  at::Tensor content;      // (B, h, R, K) c_ij
  at::Tensor biased;       // (B, h, R, K) c_ij with Shaw's term, if any
  at::Tensor gate_logits;  // (B, h, R, K); the same tensor as `content` where gates come from it
  at::Tensor rows;         // (B, h, R, D) the queries that ask for positions
  at::Tensor carry;        // (B, h, R) gate sums right of the tile
  at::Tensor table;        // (B, h, R, p_max + 1) z_i[p]
  CopeNetwork network;
  at::Tensor slopes;  // (h)
  double p_max = std::numeric_limits<double>::infinity();

  // Whether anything here needs a gradient.
  bool learning() const;
};

// σ(logits) with 0 for columns right of the row's own token: (B, h, R, K).
at::Tensor visible_gates(const at::Tensor& logits, const Tile& tile);

// Fills logits, gates, positions and carry of `scores` by ATen operations.
void differentiable_cope(const CopeTile& work, const Tile& tile, TileScores& scores);

// The same up to rounding in one pass over each row; gates and positions only if wanted. Float32 on the CPU without
// gradients, table or slopes.
void fused_cope(const CopeTile& work, const Tile& tile, const Wanted& wanted, TileScores& scores);

}  // namespace locus::position
