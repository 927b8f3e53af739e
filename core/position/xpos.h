// xPos: RoPE whose slow pairs also fade with distance.
#pragma once

#include <memory>

#include "core/position/shared/pair_form.h"
#include "core/position/shared/rotation.h"
#include "core/position/shared/with_options.h"

namespace locus::position {

struct XposOptions : TableOptions<XposOptions> {
  PairLayout layout = PairLayout::kInterleaved;  // interleaved: torchscale
  double base = 10000.0;
  double scale_base = 512.0;  // tokens over which a pair fades by ζ_m

  static const OptionTable<XposOptions> kTable;
};

// ζ_m = (2m + 0.4D)/(1.4D), m = 0 … D/2−1: (D/2) float64.
at::Tensor xpos_zeta(std::int64_t head_width);

// (n, D) of ζ^(sign·(ids − centre)/scale_base), each pair's factor on both its channels.
at::Tensor xpos_scales(const at::Tensor& ids, double centre, double sign, std::int64_t head_width,
                       const XposOptions& options);

// logit_ij = Σ over pairs of ζ_m^((i−j)/scale_base) times RoPE's product, /√D.
//
// The factor is split between q and k around the middle of each tile, not of the sequence: around a fixed centre
// float32 would overflow some 35,000 tokens away.
class Xpos final : public WithOptions<Xpos, XposOptions>, public Paired {
 public:
  static const Description& about();
  static Status settle(XposOptions& options, const ModelShape& shape);

  using WithOptions::WithOptions;

  bool is_dot_product() const override { return false; }
  // table: (2, T, D/2) float64 cos and sin.
  State begin(const Positions& positions, std::int64_t batch) const override;
  // Rotates; the fading is score()'s.
  Prepared prepare(const State& state, std::int64_t layer, const Projections& projections) const override;
  TileScores score(const Prepared& prepared, const Tile& tile, const Wanted& wanted,
                   const at::Tensor& carry) const override;
  // The fading is the pairs' decay.
  Result<PairForm> pair_form(const Prepared& prepared, std::int64_t layer) const override;

 private:
  at::Tensor logits(const Prepared& prepared, const Tile& tile) const;
};

}  // namespace locus::position
