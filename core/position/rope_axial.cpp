#include "core/position/rope_axial.h"

#include <cmath>
#include <string>

namespace locus::position {

Result<RopeAxialOptions> RopeAxialOptions::from(const Settings& settings) {
  RopeAxialOptions options;
  LOCUS_TRY(options.base, settings.number("base", options.base));
  if (!(options.base > 1) || !std::isfinite(options.base)) {
    return bad_input("option base: expected a number above 1, found " + to_text(SettingValue(options.base)));
  }
  return options;
}

Status accepts_grid(const Positions& positions, const std::string& name) {
  if (positions.dimensions() != 2) {
    return bad_input("encoding " + name + ": expected positions of an image grid, found those of a sequence");
  }
  return {};
}

at::Tensor without_prefix(const at::Tensor& angles, std::int64_t prefix) {
  if (prefix == 0) {
    return angles;
  }
  const at::Tensor turning = angles.slice(-2, prefix);
  return at::cat({at::zeros_like(angles.slice(-2, 0, prefix)), turning}, -2);
}

const Description& RopeAxial::about() {
  static const Description description{
      .name = "rope-axial",
      .title = "RoPE for images, axial",
      .paper = "Heo et al. 2024, arXiv:2403.13298",
      .equation = "⟨R q, R k⟩/√D, pairs turn by x·f_m and y·f_m, f_m = base^(−4m/D), m < D/4",
      .content = "unrotated q·k/√D, as if both patches stood at one place",
      .look_for = "Crosses: rows and columns of the image that a query patch prefers.",
      .options = {{"base", "100", "f_m = base^(−4m/D)"}},
      .rotates = true,
      .has_dot_product = true,
  };
  return description;
}

Result<std::unique_ptr<PositionEncoding>> RopeAxial::make(const Settings& options, const ModelShape& shape) {
  LOCUS_TRY(const RopeAxialOptions typed, RopeAxialOptions::from(options));
  if (shape.head_width % 4 != 0) {
    return bad_input("encoding rope-axial: expected a head width that 4 divides, found " +
                     std::to_string(shape.head_width));
  }
  return std::unique_ptr<PositionEncoding>(std::make_unique<RopeAxial>(shape, typed));
}

State RopeAxial::begin(const Positions& positions, std::int64_t /*batch*/) const {
  const at::Tensor frequencies = inverse_frequencies(shape_.head_width / 2, options_.base);
  const at::Tensor y = positions.ids.select(1, 0).unsqueeze(1) * frequencies;
  const at::Tensor x = positions.ids.select(1, 1).unsqueeze(1) * frequencies;
  const at::Tensor angles = without_prefix(at::cat({x, y}, -1), positions.prefix);
  return {positions, Rotation{angles.cos(), angles.sin()}.packed()};
}

Prepared RopeAxial::prepare(const State& state, std::int64_t /*layer*/, const Projections& projections) const {
  const Rotation turn = Rotation::unpacked(state.table);
  Prepared prepared;
  prepared.query = rotate(projections.query, turn, PairLayout::kInterleaved);
  prepared.key = rotate(projections.key, turn, PairLayout::kInterleaved);
  prepared.content_query = projections.query;
  prepared.content_key = projections.key;
  prepared.positions = state.positions;
  return prepared;
}

at::Tensor RopeAxial::vectors(const State& state, std::int64_t /*layer*/) const {
  return rotation_vectors(Rotation::unpacked(state.table)).unsqueeze(0);
}

}  // namespace locus::position
