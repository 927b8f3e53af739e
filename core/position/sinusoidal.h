// Fixed sinusoids added to the token embeddings, for any length.
#pragma once

#include <memory>

#include "core/position/shared/rotation.h"
#include "core/position/shared/with_options.h"

namespace locus::position {

struct SinusoidalOptions : TableOptions<SinusoidalOptions> {
  double base = 10000.0;
  PairLayout layout = PairLayout::kInterleaved;  // interleaved: sin, cos, sin, cos …; half: all sines, then all cosines

  static const OptionTable<SinusoidalOptions> kTable;
};

// x_i + P_i, P_i[2m] = sin(i·base^(−2m/C)), P_i[2m+1] = cos(i·base^(−2m/C)).
class Sinusoidal final : public WithOptions<Sinusoidal, SinusoidalOptions> {
 public:
  static const Description& about();
  static Status settle(SinusoidalOptions& options, const ModelShape& shape);

  using WithOptions::WithOptions;

  // table: (T, C) float32.
  State begin(const Positions& positions, std::int64_t batch) const override;
  at::Tensor embed(const State& state) const override { return state.table; }
  at::Tensor vectors(const State& state, std::int64_t layer) const override;
};

}  // namespace locus::position
