// PoPE: polar coordinates. A channel's size says what stands there, and its angle where; a query's and a key's numbers
// change no angle.
#pragma once

#include <cstdint>
#include <memory>

#include "core/position/shared/layer_parameter.h"
#include "core/position/shared/pair_form.h"
#include "core/position/shared/with_options.h"

namespace locus::position {

struct PopeOptions : TableOptions<PopeOptions> {
  enum class Start { kZero, kUniform };

  double base = 10000.0;
  double fraction = 1.0;  // of the D channels that are polar, the first ones; fraction·D must be whole
  bool per_layer = true;
  Start start = Start::kZero;  // option `start`: "zero", or "uniform" between −2π and 0

  static const OptionTable<PopeOptions> kTable;
  Status check() const;
};

// logit_ij = (1/√D) Σ_c μ^q_ic μ^k_jc cos((i − j)·θ_c − δ_c),  μ = ln(1 + e^x),  θ_c = base^(−c/M),  −2π ≤ δ_c ≤ 0
//
// c = 0 … M−1 are the polar channels, M = fraction·D, each with a frequency of its own; the other channels give plain
// q·k. δ (H, M) is trained, and clamped where it is used. As vectors of width 2M + (D − M), the logit is their product
// times 1/√D:
//   Prepared::query  μ^q (cos(iθ − δ), sin(iθ − δ)), plain     so that heads may share a key
//   Prepared::key    μ^k (cos jθ, sin jθ), plain
// The content is that of all phases 0, (1/√D) Σ_c μ^q_ic μ^k_jc and the plain part, which no logit exceeds. Its vectors
// have the same width: (μ, 0), plain.
class Pope final : public WithOptions<Pope, PopeOptions>, public Paired {
 public:
  static const Description& about();
  static Result<std::unique_ptr<PositionEncoding>> make(const Settings& options, const ModelShape& shape);

  Pope(const ModelShape& shape, const PopeOptions& options, std::int64_t polar);

  std::vector<Parameter> parameters() override { return parameters_of({&phase_}); }
  bool is_linear() const override { return false; }
  // table: (2, T, M) float64 cos and sin.
  State begin(const Positions& positions, std::int64_t batch) const override;
  Prepared prepare(const State& state, std::int64_t layer, const Projections& projections) const override;
  at::Tensor vectors(const State& state, std::int64_t layer) const override;
  Result<PairForm> pair_form(const Prepared& prepared, std::int64_t layer) const override;

 private:
  // (H, M) float64 δ of a layer.
  at::Tensor phases(std::int64_t layer) const;

  std::int64_t polar_;    // M
  LayerParameter phase_;  // (H, M) δ
};

}  // namespace locus::position
