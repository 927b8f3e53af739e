// Stick-breaking: instead of a soft-max, every key breaks a part off what the keys behind it have left.
#pragma once

#include "core/position/shared/with_options.h"

namespace locus::position {

struct StickBreakingOptions : TableOptions<StickBreakingOptions> {
  static const OptionTable<StickBreakingOptions> kTable;
};

// A_ij = σ(s_ij) Π_{j<l<i} (1 − σ(s_il)) for j < i,  s_ij = q_i·k_j/√D,  A_ii = Π_{l<i} (1 − σ(s_il))
//
// What no earlier key took, A_ii, is the token's own. Rows sum to 1, so that ln A is the input of a soft-max that leaves
// A as it is: logit_ij = ln A_ij, with no share of the token's own s_ii, whose content is 0. Recency comes from the
// product; position ids change nothing. The content is s, the logarithm of the odds with which a key takes what is
// left; the contribution is ln Π_{j≤l<i} (1 − σ(s_il)). The carry is the sum of
// ln(1 − σ) of the columns from tile.columns.begin on, in float64.
class StickBreaking final : public WithOptions<StickBreaking, StickBreakingOptions> {
 public:
  using WithOptions::WithOptions;
  static const Description& about();
  // kBadInput where the model is not causal.
  static Status settle(const StickBreakingOptions& options, const ModelShape& shape);

  bool is_linear() const override { return false; }
  bool is_dot_product() const override { return false; }
  bool needs_carry() const override { return true; }
  TileScores score(const Prepared& prepared, const Tile& tile, const Wanted& wanted,
                   const at::Tensor& carry) const override;

 private:
  // (B, h, R) float64 Σ of ln(1 − σ(s_il)) over the columns l < i.
  at::Tensor left_by(const Prepared& prepared, const Tile& tile) const;
};

}  // namespace locus::position
