// Fixed sinusoids added to the token embeddings, for any length.
#pragma once

#include <cstdint>

#include "core/position/shared/rotation.h"
#include "core/position/shared/with_options.h"

namespace locus::position {

struct SinusoidalOptions : TableOptions<SinusoidalOptions> {
  double base = 10000.0;
  PairLayout layout = PairLayout::kInterleaved;  // interleaved: sin, cos, sin, cos …; half: all sines, then all cosines
  bool closed = false;                           // whether the slowest rate is 1/base itself
  std::int64_t first = 0;                        // row of position 0

  static const OptionTable<SinusoidalOptions> kTable;
};

// x_i + P_i, P_i[2m] = sin((i + first)·θ_m), P_i[2m+1] = cos((i + first)·θ_m), where θ_m = base^(−2m/C), or
// base^(−m/(C/2−1)) if closed. Where rows are skipped, the one before the first belongs to padding: P_{−1} = 0.
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
