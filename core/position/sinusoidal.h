// Fixed sinusoids added to the token embeddings, for any length.
#pragma once

#include <cstdint>

#include "core/position/shared/rotation.h"
#include "core/position/shared/with_options.h"

namespace locus::position {

// Option `grid`: "none", a sequence; "columns" or "rows", what the waves of the first C/2 channels of a patch follow.
enum class SineGrid { kNone, kColumns, kRows };

struct SinusoidalOptions : TableOptions<SinusoidalOptions> {
  double base = 10000.0;
  PairLayout layout = PairLayout::kInterleaved;  // interleaved: sin, cos, sin, cos …; half: all sines, then all cosines
  bool closed = false;                           // whether the slowest rate is 1/base itself
  std::int64_t first = 0;                        // row of position 0
  SineGrid grid = SineGrid::kNone;

  static const OptionTable<SinusoidalOptions> kTable;
  Status check() const;
};

// x_i + P_i, P_i[2m] = sin((i + first)·θ_m), P_i[2m+1] = cos((i + first)·θ_m), where θ_m = base^(−2m/C), or
// base^(−m/(C/2−1)) if closed. Where rows are skipped, the one before the first belongs to padding: P_{−1} = 0.
// A patch of a grid has the P of its column and that of its row, of C/2 channels each; tokens without position have 0.
class Sinusoidal final : public WithOptions<Sinusoidal, SinusoidalOptions> {
 public:
  static const Description& about();
  static Status settle(SinusoidalOptions& options, const ModelShape& shape);

  using WithOptions::WithOptions;

  Status accepts(const Positions& positions) const override;
  // table: (T, C) float32.
  State begin(const Positions& positions, std::int64_t batch) const override;
  at::Tensor embed(const State& state) const override { return state.table; }
  at::Tensor vectors(const State& state, std::int64_t layer) const override;

 private:
  // (T, width) of these positions (T).
  at::Tensor waves(const at::Tensor& ids, std::int64_t width) const;
};

}  // namespace locus::position
