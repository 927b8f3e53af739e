#include "core/position/sinusoidal.h"

#include <cmath>
#include <string>

#include "core/position/list.h"

namespace locus::position {

namespace {

// base^(−m/(M − 1)), m = 0 … M − 1 with M = width/2: (M) float64.
at::Tensor closed_frequencies(std::int64_t width, double base) {
  const std::int64_t pairs = width / 2;
  const at::Tensor exponent = at::arange(pairs, at::kDouble) / static_cast<double>(pairs - 1);
  return at::exp(exponent * -std::log(base));
}

constexpr Whole kRows{0, std::int64_t{1} << 24};

}  // namespace

const OptionTable<SinusoidalOptions> SinusoidalOptions::kTable{
    {"base", &SinusoidalOptions::base, "the longest wavelength is 2π·base tokens", Above{1}},
    {"layout", &SinusoidalOptions::layout, "interleaved: sin, cos, sin, cos …; half: all sines, then all cosines",
     kLayoutWords},
    {"spacing", &SinusoidalOptions::closed, "rates of the pairs: open, base^(−2m/C); closed, base^(−m/(C/2−1))",
     Words{WordTable<bool, 2>{{{"open", false}, {"closed", true}}}}},
    {"first", &SinusoidalOptions::first, "row of position 0; above 0, padding (position −1) gets nothing", kRows},
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
      .distance = kVectorDistance,
  };
  return description;
}

Status Sinusoidal::settle(SinusoidalOptions& options, const ModelShape& shape) {
  if (shape.width % 2 != 0) {
    return bad_input("encoding sinusoidal: expected an even model width, found " + std::to_string(shape.width));
  }
  if (options.closed && shape.width < 4) {
    return bad_input("encoding sinusoidal: expected a model width of at least 4 for closed spacing, found " +
                     std::to_string(shape.width));
  }
  return {};
}

State Sinusoidal::begin(const Positions& positions, std::int64_t /*batch*/) const {
  const at::Tensor rates = options_.closed ? closed_frequencies(shape_.width, options_.base)
                                           : inverse_frequencies(shape_.width, options_.base);
  const Rotation waves = rotation(positions.ids + static_cast<double>(options_.first), rates);
  at::Tensor table = options_.layout == PairLayout::kInterleaved ? at::stack({waves.sin, waves.cos}, -1).flatten(-2)
                                                                 : at::cat({waves.sin, waves.cos}, -1);
  if (options_.first > 0) {
    table = table.masked_fill(positions.ids.eq(-1).unsqueeze(-1), 0);
  }
  return {positions, table.to(at::kFloat)};
}

at::Tensor Sinusoidal::vectors(const State& state, std::int64_t /*layer*/) const {
  return state.table.unsqueeze(0);
}

Entry sinusoidal_encoding() {
  return {Sinusoidal::about(), Sinusoidal::make};
}

}  // namespace locus::position
