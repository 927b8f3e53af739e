// Shaw's relative positions on the key side: a trained vector for every distance, added to the key.
#pragma once

#include <memory>

#include "core/position/shared/adds_to_content.h"
#include "core/position/shared/layer_parameter.h"
#include "core/position/shared/with_options.h"

namespace locus::position {

struct RelativeOptions : TableOptions<RelativeOptions> {
  std::int64_t length = 0;  // distances with a vector of their own: 0 … length−1; 0: the trained length
  bool per_layer = true;    // every layer has its own vectors (heads share them)

  static const OptionTable<RelativeOptions> kTable;
};

// Treatment of a distance beyond the table.
enum class BeyondTable {
  kNothing,  // adds nothing (relative)
  kLast,     // uses the farthest vector (relative-capped)
};

// q_i·e[Δ] of a tile, unscaled: rows (B, h, R, D) with embedding (length, D), row Δ; where keys may lie ahead
// (!causal) (2·length − 1, D), row Δ + length − 1. -> (B, h, R, K). Fractional distances take the nearest row.
at::Tensor relative_term(const at::Tensor& rows, const at::Tensor& embedding, const Positions& positions,
                         const Tile& tile, BeyondTable beyond, bool causal);

// logit_ij = q_i·(k_j + e[i − j])/√D
class Relative final : public WithOptions<Relative, RelativeOptions>, public AddsToContent {
 public:
  static const Description& about();
  static const Description& about_capped();
  static Result<std::unique_ptr<PositionEncoding>> make(const Settings& options, const ModelShape& shape);
  static Result<std::unique_ptr<PositionEncoding>> make_capped(const Settings& options, const ModelShape& shape);

  // The vectors start Glorot-uniform.
  Relative(const ModelShape& shape, const RelativeOptions& options, BeyondTable beyond);

  const Description& description() const override { return beyond_ == BeyondTable::kLast ? about_capped() : about(); }
  std::vector<Parameter> parameters() override { return parameters_of({&embedding_}); }
  bool is_dot_product() const override { return false; }
  TileScores score(const Prepared& prepared, const Tile& tile, const Wanted& wanted,
                   const at::Tensor& carry) const override;
  // Beyond the table NaN, or the last distance.
  Result<at::Tensor> distances(const State& state, const Prepared& prepared, const Tile& tile) const override;
  // Every query meets the vectors of the distances that there are.
  double macs(std::int64_t layer, std::int64_t length) const override;

 private:
  BeyondTable beyond_;
  LayerParameter embedding_;  // (length, D), or (2·length − 1, D) where keys may lie ahead
};

}  // namespace locus::position
