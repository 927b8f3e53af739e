// Selective attention: a token may hide an earlier one from all tokens after it.
#pragma once

#include "core/position/shared/with_options.h"

namespace locus::position {

struct SelectiveOptions : TableOptions<SelectiveOptions> {
  static const OptionTable<SelectiveOptions> kTable;
};

// logit_ij = q_i·k_j/√D − F_ij,  F_ij = Σ_{j<m<i} S_mj,  S_mj = max(0, q⁰_m·k⁰_j/√D) of head 0, S_m0 = 0
//
// Head 0 says how much token m hides token j; the first token cannot be hidden, and what a token hides counts for the
// queries after it. Every head gets the same F. Sums are float64. A tile computes head 0's scores of all rows above it.
class Selective final : public WithOptions<Selective, SelectiveOptions> {
 public:
  using WithOptions::WithOptions;
  static const Description& about();
  // kBadInput where the model is not causal.
  static Status settle(const SelectiveOptions& options, const ModelShape& shape);

  bool is_linear() const override { return false; }
  bool is_dot_product() const override { return false; }
  bool follows_between() const override { return true; }
  double macs(std::int64_t layer, std::int64_t length) const override;
  TileScores score(const Prepared& prepared, const Tile& tile, const Wanted& wanted,
                   const at::Tensor& carry) const override;

 private:
  // (B, 1, R, K) S of these rows m and columns j.
  at::Tensor hiding(const Prepared& prepared, std::int64_t layer, Range rows, Range columns) const;
};

}  // namespace locus::position
