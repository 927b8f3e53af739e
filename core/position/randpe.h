// RandPE: trains on a random ordered sample of a longer range of positions, over RoPE or over sinusoids.
#pragma once

#include <memory>
#include <vector>

#include "core/position/shared/pair_form.h"
#include "core/position/shared/rotation.h"
#include "core/position/shared/with_options.h"

namespace locus::position {

struct RandpeOptions {
  std::string over = "rope";       // or "sinusoidal"
  std::int64_t length_max = 2048;  // L_max: training positions are drawn from 0 … L_max − 1
  PairLayout layout = PairLayout::kHalf;
  double base = 10000.0;

  // Errors: kBadInput naming option, expected and found.
  static Result<RandpeOptions> from(const Settings& settings);
  Settings settings() const;
};

// In training T positions are sampled without replacement from [0, L_max) and sorted; evaluation uses 0 … T−1, and so
// meets no position that training has not seen. Everything else is the encoding below.
class Randpe final : public WithOptions<Randpe, RandpeOptions>, public Paired {
 public:
  static const Description& about();
  static Result<std::unique_ptr<PositionEncoding>> make(const Settings& options, const ModelShape& shape);

  Randpe(const ModelShape& shape, RandpeOptions options, std::unique_ptr<PositionEncoding> inner);

  const Description& description() const override { return description_; }
  Result<std::vector<TrainingPositions>> training_positions(const Positions& natural, Range sequences,
                                                            std::uint64_t seed) const override;
  State begin(const Positions& positions, std::int64_t batch) const override { return inner_->begin(positions, batch); }
  at::Tensor embed(const State& state) const override { return inner_->embed(state); }
  Prepared prepare(const State& state, std::int64_t layer, const Projections& projections) const override {
    return inner_->prepare(state, layer, projections);
  }
  at::Tensor vectors(const State& state, std::int64_t layer) const override { return inner_->vectors(state, layer); }
  // Over sinusoids: kUnsupported.
  Result<PairForm> pair_form(const Prepared& prepared, std::int64_t layer) const override {
    return position::pair_form(*inner_, prepared, layer);
  }

 private:
  std::unique_ptr<PositionEncoding> inner_;
  Description description_;
};

}  // namespace locus::position
