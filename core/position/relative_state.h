// The relative-state bias of Inkling: every token mixes a few trained profiles over the distance into its own bias.
#pragma once

#include "core/position/shared/adds_to_content.h"
#include "core/position/shared/layer_parameter.h"
#include "core/position/shared/with_options.h"

namespace locus::position {

struct RelativeStateOptions : TableOptions<RelativeStateOptions> {
  std::int64_t extent = 0;   // distances with a bias: 0 … extent−1; 0: the trained length
  std::int64_t states = 16;  // d, profiles, and numbers of each token and head that mix them
  double growth = 0;         // α of τ; 0: τ is 1
  double growth_from = 1;    // n₀, tokens that a query sees before τ grows

  static const OptionTable<RelativeStateOptions> kTable;
};

// logit_ij = τ_i·(q_i·k_j/√D + Σ_n r_i[n]·P[n, i − j]),  r_i = W x_i of each head,  τ_i = 1 + α·ln(max(1, (i + 1)/n₀))
//
// P is 0 from `extent` on. τ is float64, of position ids. prepare() requires Projections::hidden, multiplies q by τ, and
// keeps τ·r (B, H, T, d) as Prepared::gate_query. The content is τ_i·q_i·k_j/√D.
class RelativeState final : public WithOptions<RelativeState, RelativeStateOptions>, public AddsToContent {
 public:
  static const Description& about();
  // kBadInput where the model is not causal, and where neither `extent` nor a trained length is given; kTooLarge.
  static Status settle(RelativeStateOptions& options, const ModelShape& shape);

  // W starts uniform in ±1/√C, P normal with deviation 0.02.
  RelativeState(const ModelShape& shape, const RelativeStateOptions& options);

  std::vector<Parameter> parameters() override { return parameters_of({&mixing_, &profiles_}); }
  // r is none of queries and keys: their means do not give that of the logits.
  bool is_linear() const override { return false; }
  bool is_dot_product() const override { return false; }
  // Each token's r is computed, and meets the profiles of the distances that there are.
  double macs(std::int64_t layer, std::int64_t length) const override;
  Prepared prepare(const State& state, std::int64_t layer, const Projections& projections) const override;
  TileScores score(const Prepared& prepared, const Tile& tile, const Wanted& wanted,
                   const at::Tensor& carry) const override;
  // Beyond the profiles NaN.
  Result<at::Tensor> distances(const State& state, const Prepared& prepared, const Tile& tile) const override;

 private:
  LayerParameter mixing_;    // (H·d, C) W, one per layer
  LayerParameter profiles_;  // (d, extent) P, one per layer
};

}  // namespace locus::position
