// DAPE: a small network corrects every logit from the scores and biases of all heads at its cell.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/position/shared/layer_parameter.h"
#include "core/position/shared/with_options.h"

namespace locus::position {

struct DapeOptions : TableOptions<DapeOptions> {
  std::string over = "kerple-log";  // "alibi", "kerple-log" or "rope"
  std::int64_t hidden = 32;

  static const OptionTable<DapeOptions> kTable;
};

// logit = S + B + W₂ LeakyReLU(W₁ [S; B] + b₁) + b₂,  S = q·k/√D and B of the encoding `over`, of all H heads of a cell
//
// Over RoPE there is no B, and S is of rotated queries and keys: logit = S + W₂ LeakyReLU(W₁ S + b₁) + b₂. LeakyReLU has
// the slope 0.01 below 0. A tile of some heads computes the scores of all. The content is that of `over`.
class Dape final : public WithOptions<Dape, DapeOptions> {
 public:
  static const Description& about();
  static Result<std::unique_ptr<PositionEncoding>> make(const Settings& options, const ModelShape& shape);

  Dape(const ModelShape& shape, const DapeOptions& options, std::unique_ptr<PositionEncoding> over);

  const Description& description() const override;
  std::vector<Parameter> parameters() override;
  Status accepts(const Positions& positions) const override { return over_->accepts(positions); }
  State begin(const Positions& positions, std::int64_t batch) const override { return over_->begin(positions, batch); }
  Prepared prepare(const State& state, std::int64_t layer, const Projections& projections) const override {
    return over_->prepare(state, layer, projections);
  }
  bool is_linear() const override { return false; }
  bool is_dot_product() const override { return false; }
  double macs(std::int64_t layer, std::int64_t length) const override;
  TileScores score(const Prepared& prepared, const Tile& tile, const Wanted& wanted,
                   const at::Tensor& carry) const override;

 private:
  bool over_rope() const { return options_.over == "rope"; }

  std::unique_ptr<PositionEncoding> over_;
  LayerParameter hidden_weight_;  // (hidden, 2H) W₁, one per layer; over RoPE (hidden, H)
  LayerParameter hidden_bias_;    // (hidden) b₁
  LayerParameter output_weight_;  // (H, hidden) W₂
  LayerParameter output_bias_;    // (H) b₂
};

}  // namespace locus::position
