#include "core/position/sinusoidal.h"

#include <cmath>
#include <string>

#include "core/position/list.h"
#include "core/position/rope_axial.h"

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
    {"grid", &SinusoidalOptions::grid,
     "none: a sequence; columns or rows: what the first C/2 channels of an image's patch follow (AIMv2)",
     Words{WordTable<SineGrid, 3>{
         {{"none", SineGrid::kNone}, {"columns", SineGrid::kColumns}, {"rows", SineGrid::kRows}}}}},
};

Status SinusoidalOptions::check() const {
  return grid == SineGrid::kNone || first == 0 ? Status() : Status(wrong_option("first", "0 in a grid", first));
}

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
  if (options.grid != SineGrid::kNone && (shape.width % 4 != 0 || (options.closed && shape.width < 8))) {
    return bad_input("encoding sinusoidal: expected a model width that 4 divides" +
                     std::string(options.closed ? ", at least 8," : "") + " in a grid, found " +
                     std::to_string(shape.width));
  }
  return {};
}

Status Sinusoidal::accepts(const Positions& positions) const {
  return options_.grid == SineGrid::kNone ? PositionEncoding::accepts(positions)
                                          : accepts_grid(positions, about().name);
}

at::Tensor Sinusoidal::waves(const at::Tensor& ids, std::int64_t width) const {
  const at::Tensor rates =
      options_.closed ? closed_frequencies(width, options_.base) : inverse_frequencies(width, options_.base);
  const Rotation turns = rotation(ids, rates);
  return options_.layout == PairLayout::kInterleaved ? at::stack({turns.sin, turns.cos}, -1).flatten(-2)
                                                     : at::cat({turns.sin, turns.cos}, -1);
}

State Sinusoidal::begin(const Positions& positions, std::int64_t /*batch*/) const {
  if (options_.grid != SineGrid::kNone) {
    const std::int64_t half = shape_.width / 2;
    const at::Tensor rows = waves(positions.ids.select(1, 0), half);
    const at::Tensor columns = waves(positions.ids.select(1, 1), half);
    at::Tensor both = options_.grid == SineGrid::kColumns ? at::cat({columns, rows}, -1) : at::cat({rows, columns}, -1);
    both.slice(0, 0, positions.prefix).zero_();
    return {positions, both.to(at::kFloat)};
  }
  at::Tensor table = waves(positions.ids + static_cast<double>(options_.first), shape_.width);
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
