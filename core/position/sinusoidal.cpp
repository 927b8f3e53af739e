#include "core/position/sinusoidal.h"

#include <string>

namespace locus::position {

const OptionTable<SinusoidalOptions> SinusoidalOptions::kTable{
    {"base", &SinusoidalOptions::base, "the longest wavelength is 2π·base tokens", Above{1}},
    {"layout", &SinusoidalOptions::layout, "interleaved: sin, cos, sin, cos …; half: all sines, then all cosines",
     kLayoutWords},
};

const Description& Sinusoidal::about() {
  static const Description description{
      .name = "sinusoidal",
      .title = "Sinusoidal absolute positions (APE)",
      .paper = "Vaswani et al. 2017, arXiv:1706.03762",
      .equation = "x_i + [sin(i·base^(−2m/C)), cos(i·base^(−2m/C))]",
      .content = "",
      .options = SinusoidalOptions::kTable.described(),
      .embeds = true,
      .has_dot_product = true,
      .has_waves = true,
  };
  return description;
}

Status Sinusoidal::settle(SinusoidalOptions& /*options*/, const ModelShape& shape) {
  if (shape.width % 2 != 0) {
    return bad_input("encoding sinusoidal: expected an even model width, found " + std::to_string(shape.width));
  }
  return {};
}

State Sinusoidal::begin(const Positions& positions, std::int64_t /*batch*/) const {
  const Rotation waves = rotation(positions.ids, inverse_frequencies(shape_.width, options_.base));
  const at::Tensor table = options_.layout == PairLayout::kInterleaved
                               ? at::stack({waves.sin, waves.cos}, -1).flatten(-2)
                               : at::cat({waves.sin, waves.cos}, -1);
  return {positions, table.to(at::kFloat)};
}

at::Tensor Sinusoidal::vectors(const State& state, std::int64_t /*layer*/) const {
  return state.table.unsqueeze(0);
}

}  // namespace locus::position
