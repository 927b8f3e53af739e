// FIRE: a small network turns the distance, normalised by the query's position, into a bias.
#pragma once

#include <memory>

#include "core/position/shared/adds_to_content.h"
#include "core/position/shared/layer_parameter.h"
#include "core/position/shared/tile_kernels.h"
#include "core/position/shared/with_options.h"

namespace locus::position {

struct FireOptions : TableOptions<FireOptions> {
  std::int64_t hidden = 32;   // units of the network
  std::int64_t length = 512;  // L: before it the normaliser does not change with the query
  bool per_layer = false;     // every layer has its own network, c and m

  static const OptionTable<FireOptions> kTable;
  Status check() const;
};

// logit_ij = q_i·k_j/√D + MLP(x)_h,  x = ln(|cΔ| + 1) / (ln(|c·max(i, |mL|)| + 1) + 1e-6), MLP: 1 → hidden → H, ReLU.
//
// A ReLU network of one number is piecewise linear: tiles that need no gradient walk its knots, exactly, instead of
// running the network in every cell.
class Fire final : public WithOptions<Fire, FireOptions>, public AddsToContent {
 public:
  static const Description& about();

  // c = 0.1 and m = 1; the network starts uniform in ±1/√inputs.
  Fire(const ModelShape& shape, const FireOptions& options);

  std::vector<Parameter> parameters() override {
    return parameters_of({&c_, &multiplier_, &hidden_weight_, &hidden_bias_, &output_weight_, &output_bias_});
  }
  bool is_dot_product() const override { return false; }
  TileScores score(const Prepared& prepared, const Tile& tile, const Wanted& wanted,
                   const at::Tensor& carry) const override;
  // The network once a cell, as its authors run it; the knots of a run without gradient are fewer.
  double macs(std::int64_t layer, std::int64_t length) const override;

  // The network of `layer` as its knots and the lines between them, in ascending order of x.
  kernel::PiecewiseLinear piecewise(std::int64_t layer) const;

 private:
  // (R) ln(|c·max(i, |mL|)| + 1) + 1e-6 of the tile's queries.
  at::Tensor normalisers(const Positions& positions, const Tile& tile) const;
  at::Tensor differentiable(const at::Tensor& content, const Positions& positions, const Tile& tile) const;
  at::Tensor fused(const at::Tensor& content, const at::Tensor& distances, const Positions& positions, const Tile& tile,
                   bool overwrite) const;

  LayerParameter c_;              // ()
  LayerParameter multiplier_;     // () m
  LayerParameter hidden_weight_;  // (hidden, 1)
  LayerParameter hidden_bias_;    // (hidden)
  LayerParameter output_weight_;  // (H, hidden)
  LayerParameter output_bias_;    // (H)
};

}  // namespace locus::position
