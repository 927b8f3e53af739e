// FoX: the forgetting transformer. Every token decides by a gate how much of all earlier keys is kept.
#pragma once

#include "core/position/shared/layer_parameter.h"
#include "core/position/shared/with_options.h"

namespace locus::position {

struct FoxOptions : TableOptions<FoxOptions> {
  double bias = 0;      // what the gates' bias starts at
  bool rope = false;    // q and k are turned by RoPE too, in halves
  double base = 10000;  // its base

  static const OptionTable<FoxOptions> kTable;
  Status check() const;
};

// logit_ij = q_i·k_j/√D + D_ij,  D_ij = Σ_{l=j+1..i} ln f_l,  f_l = σ(w·x_l + b) a head      (Eq. 3 to 7 of the paper)
//
// The query's own gate counts, the key's does not: D_ii = 0. With `rope`, q and k are turned, m with m + D/2 by
// position·base^(−2m/D). Logarithms are summed in float64. prepare() keeps ln f
// (B, H, T, 1) as Prepared::gate_query, and requires Projections::hidden.
class Fox final : public WithOptions<Fox, FoxOptions> {
 public:
  static const Description& about();
  // kBadInput where the model is not causal: a gate is of the tokens before it; with `rope` for an odd width of heads.
  static Status settle(const FoxOptions& options, const ModelShape& shape);

  // w starts uniform in ±1/√C, b at the option `bias`.
  Fox(const ModelShape& shape, const FoxOptions& options);

  const Description& description() const override;
  std::vector<Parameter> parameters() override { return parameters_of({&gate_, &bias_}); }
  bool is_dot_product() const override { return false; }
  bool follows_between() const override { return true; }
  at::Tensor log_gates(const Prepared& prepared) const override;
  double macs(std::int64_t layer, std::int64_t length) const override;
  // table, with `rope`: (2, T, M) float64 cos and sin.
  State begin(const Positions& positions, std::int64_t batch) const override;
  Prepared prepare(const State& state, std::int64_t layer, const Projections& projections) const override;
  TileScores score(const Prepared& prepared, const Tile& tile, const Wanted& wanted,
                   const at::Tensor& carry) const override;

 private:
  LayerParameter gate_;  // (H, C) w, one per layer
  LayerParameter bias_;  // (H) b, one per layer
};

}  // namespace locus::position
