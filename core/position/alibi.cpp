#include "core/position/alibi.h"

#include <bit>
#include <cmath>

#include "core/position/list.h"
#include "core/position/shared/additive_bias.h"
#include "core/position/shared/initial.h"

namespace locus::position {

namespace {

std::vector<double> slopes_of_power(std::uint64_t heads) {
  std::vector<double> slopes;
  for (std::uint64_t h = 1; h <= heads; ++h) {
    slopes.push_back(std::exp2(-8.0 * static_cast<double>(h) / static_cast<double>(heads)));
  }
  return slopes;
}

}  // namespace

const OptionTable<AlibiOptions> AlibiOptions::kTable{
    {"before_scaling", &AlibiOptions::before_scaling,
     "add the penalty before dividing by √D (as SeqPE's baseline does)"},
};

std::vector<double> alibi_slopes(std::int64_t heads) {
  const std::uint64_t power = std::bit_floor(static_cast<std::uint64_t>(heads));
  std::vector<double> slopes = slopes_of_power(power);
  const std::vector<double> between = slopes_of_power(2 * power);
  for (std::size_t n = 0; slopes.size() < static_cast<std::size_t>(heads); n += 2) {
    slopes.push_back(between[n]);
  }
  return slopes;
}

const Description& Alibi::about() {
  static const Description description{
      .name = "alibi",
      .title = "Attention with linear biases (ALiBi)",
      .paper = "Press et al. 2022, arXiv:2108.12409",
      .equation = "q_i·k_j/√D − m_h·|i − j|, m_h = 2^(−8h/H)",
      .content = "q·k/√D",
      .options = AlibiOptions::kTable.described(),
      .scores = true,
      .distance = kIndexDistance,
  };
  return description;
}

Alibi::Alibi(const ModelShape& shape, const AlibiOptions& options) : WithOptions(shape, options) {
  std::vector<double> slopes = alibi_slopes(shape.heads);
  for (double& slope : slopes) {
    slope *= options.before_scaling ? scale() : 1;
  }
  slopes_ = constant(slopes);
}

TileScores Alibi::score(const Prepared& prepared, const Tile& tile, const Wanted& wanted,
                        const at::Tensor& /*carry*/) const {
  const at::Tensor slopes = slopes_.slice(0, tile.heads.begin, tile.heads.end).unsqueeze(1);
  return score_with_bias(*this, prepared, tile, wanted,
                         [&slopes](const at::Tensor& distances) { return -slopes * distances.abs(); });
}

Entry alibi_encoding() {
  return {Alibi::about(), Alibi::make};
}

}  // namespace locus::position
