// RandPE: trains on a random ordered sample of a longer range of positions, over RoPE or over sinusoids; evaluates at
// 0 … T − 1, or at such a sample too.
#pragma once

#include <memory>
#include <vector>

#include "core/position/shared/pair_form.h"
#include "core/position/shared/rotation.h"
#include "core/position/shared/with_options.h"

namespace locus::position {

enum class RandpeEvaluation {
  kNatural,  // 0 … T − 1
  kDrawn,    // a sorted sample, as its authors evaluate
};

struct RandpeOptions {
  std::string over = "rope";       // or "sinusoidal"
  std::int64_t length_max = 2048;  // L_max: training positions are drawn from 0 … L_max − 1
  PairLayout layout = PairLayout::kHalf;
  double base = 10000.0;
  RandpeEvaluation evaluation = RandpeEvaluation::kNatural;
  std::int64_t seed = 0;  // of the sample that is drawn in evaluation

  // Errors: kBadInput naming option, expected and found.
  static Result<RandpeOptions> from(const Settings& settings);
  Settings settings() const;
};

// In training T positions are sampled without replacement from [0, L_max) and sorted; evaluation uses 0 … T−1, and so
// meets no position that training has not seen, or draws them as training does, a sample for each T that depends on
// `seed` alone: a text with one token more stands elsewhere. Everything else is the encoding below.
class Randpe final : public WithOptions<Randpe, RandpeOptions>, public Paired {
 public:
  static const Description& about();
  static Result<std::unique_ptr<PositionEncoding>> make(const Settings& options, const ModelShape& shape);

  Randpe(const ModelShape& shape, RandpeOptions options, std::unique_ptr<PositionEncoding> inner);

  const Description& description() const override { return description_; }
  // kBadInput also for more than L_max tokens where evaluation draws positions.
  Status accepts(const Positions& positions) const override;
  Result<std::vector<TrainingPositions>> training_positions(const Positions& natural, Range sequences,
                                                            std::uint64_t seed) const override;
  Positions evaluation_positions(const Positions& natural) const override;
  State begin(const Positions& positions, std::int64_t batch) const override { return inner_->begin(positions, batch); }
  at::Tensor embed(const State& state) const override { return inner_->embed(state); }
  Prepared prepare(const State& state, std::int64_t layer, const Projections& projections) const override {
    return inner_->prepare(state, layer, projections);
  }
  at::Tensor vectors(const State& state, std::int64_t layer) const override { return inner_->vectors(state, layer); }
  Result<at::Tensor> distances(const State& state, const Prepared& prepared, const Tile& tile) const override {
    return inner_->distances(state, prepared, tile);
  }
  // Over sinusoids: kUnsupported.
  Result<PairForm> pair_form(const Prepared& prepared, std::int64_t layer) const override {
    return position::pair_form(*inner_, prepared, layer);
  }

 private:
  std::unique_ptr<PositionEncoding> inner_;
  Description description_;
};

}  // namespace locus::position
