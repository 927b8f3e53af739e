// RoPE for images, mixed: every pair of every head and layer turns along a trained direction of the image.
#pragma once

#include <memory>

#include "core/position/shared/pair_form.h"
#include "core/position/shared/rotation.h"
#include "core/position/shared/with_options.h"

namespace locus::position {

struct RopeMixedOptions : TableOptions<RopeMixedOptions> {
  double base = 10.0;  // of the initial frequencies

  static const OptionTable<RopeMixedOptions> kTable;
};

// (2, H·D/2) initial frequencies (x first, then y) of one layer: half of a head's pairs turn along direction
// angles[h], half across it, at speeds base^(−4m/D), m < D/4. angles (H) in radians.
at::Tensor mixed_frequencies(const at::Tensor& angles, std::int64_t head_width, double base);

// Pair (2m, 2m+1) of patch (row y, column x) turns by x·F0_m + y·F1_m, F trained a layer and head.
class RopeMixed final : public WithOptions<RopeMixed, RopeMixedOptions>, public Paired {
 public:
  static const Description& about();
  static Status settle(RopeMixedOptions& options, const ModelShape& shape);

  // Directions start uniform in [0, 2π), as rope-vit does.
  RopeMixed(const ModelShape& shape, const RopeMixedOptions& options);

  std::vector<Parameter> parameters() override { return {{"freqs", &frequencies_}}; }
  Status accepts(const Positions& positions) const override;
  Prepared prepare(const State& state, std::int64_t layer, const Projections& projections) const override;
  at::Tensor vectors(const State& state, std::int64_t layer) const override;
  Result<PairForm> pair_form(const Prepared& prepared, std::int64_t layer) const override;

 private:
  // (2, H, D/2) float64 of `layer`: x, then y.
  at::Tensor frequencies_of(std::int64_t layer) const;
  // (H, T, D/2) of `layer`.
  Rotation rotation_of(const Positions& positions, std::int64_t layer) const;

  at::Tensor frequencies_;  // (2, layers, H·D/2)
};

}  // namespace locus::position
