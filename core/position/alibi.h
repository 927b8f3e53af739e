// ALiBi: a penalty that grows linearly with distance, steeper in some heads than in others.
#pragma once

#include <memory>
#include <vector>

#include "core/position/shared/adds_to_content.h"
#include "core/position/shared/with_options.h"

namespace locus::position {

struct AlibiOptions : TableOptions<AlibiOptions> {
  bool before_scaling = false;  // the penalty is added to q·k and divided by √D with it

  static const OptionTable<AlibiOptions> kTable;
};

// m_h of H heads: 2^(−8h/H), h = 1 … H; for an H that is no power of two those of the lower power n, then every other
// slope of 2n.
std::vector<double> alibi_slopes(std::int64_t heads);

// logit_ij = q_i·k_j/√D − m_h·|i − j|
class Alibi final : public WithOptions<Alibi, AlibiOptions>, public AddsToContent {
 public:
  static const Description& about();

  Alibi(const ModelShape& shape, const AlibiOptions& options);

  bool is_dot_product() const override { return false; }
  TileScores score(const Prepared& prepared, const Tile& tile, const Wanted& wanted,
                   const at::Tensor& carry) const override;

 private:
  at::Tensor slopes_;  // (H) float64
};

}  // namespace locus::position
