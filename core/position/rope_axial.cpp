#include "core/position/rope_axial.h"

#include <array>
#include <numbers>
#include <string>

#include "core/base/shown.h"
#include "core/position/list.h"
#include "core/position/shared/fresh_weights.h"

namespace locus::position {

namespace {

// 2π·(2(n + 1/2)/N − 1) of ids n that span N rows or columns, of the tokens after the prefix.
at::Tensor normalised(const at::Tensor& ids, std::int64_t prefix) {
  const at::Tensor patches = ids.slice(0, prefix);
  if (patches.numel() == 0) {
    return ids;
  }
  const at::Tensor extent = patches.max() - patches.min() + 1;
  return ((ids + 0.5) * 2 / extent - 1) * (2 * std::numbers::pi);
}

}  // namespace

const OptionTable<RopeAxialOptions> RopeAxialOptions::kTable{
    {"base", &RopeAxialOptions::base, "f_m = base^(−4m/D)", Above{1}},
    {"coordinates", &RopeAxialOptions::normalised,
     "x and y: index, the patch's column and row; normalised, 2π·(2(n + 1/2)/N − 1) of N (DINOv3)",
     Words{WordTable<bool, 2>{{{"index", false}, {"normalised", true}}}}},
    {"first", &RopeAxialOptions::rows_first, "what the first D/4 pairs turn with: columns or rows",
     Words{WordTable<bool, 2>{{{"columns", false}, {"rows", true}}}}},
    {"frequencies", &RopeAxialOptions::alternating,
     "shared: rows and columns turn by the same f_m; alternating: rows by the even ones of base^(−2k/D), columns by "
     "the "
     "odd ones (Pixtral)",
     Words{WordTable<bool, 2>{{{"shared", false}, {"alternating", true}}}}},
    {"class_angles", &RopeAxialOptions::class_angles,
     "first tokens without position (CLS), which turn by trained angles (MLCD)", Whole{0, 64}},
    {"layout", &RopeAxialOptions::layout,
     "pairs are channels (2m, 2m + 1); half: (m, m + D/2); axes: of either half of the channels, (m, m + D/4)",
     Words{WordTable<PairLayout, 3>{
         {{"half", PairLayout::kHalf}, {"interleaved", PairLayout::kInterleaved}, {"axes", PairLayout::kAxes}}}}},
};

Status accepts_grid(const Positions& positions, const std::string& name) {
  if (positions.dimensions() != 2) {
    return bad_input("encoding " + name + ": expected positions of an image grid, found those of a sequence");
  }
  if (positions.suffix > 0) {
    return bad_input("encoding " + name + ": expected no tokens behind the patches, found " +
                     std::to_string(positions.suffix));
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
      .paper = "Heo et al. 2024, arXiv:2403.13298; Siméoni et al. 2025 (DINOv3), arXiv:2508.10104",
      .equation = "⟨R q, R k⟩/√D, pairs turn by x·f_m and y·f_m, f_m = base^(−4m/D), m < D/4",
      .content = "unrotated q·k/√D, as if both patches stood at one place",
      .parameters = {{"class_angles", "(class_angles, D/2)", "angles of the first tokens without position"}},
      .options = RopeAxialOptions::kTable.described(),
      .rotates = true,
      .has_dot_product = true,
      .has_waves = true,
      .no_distance = "patches stand in rows and columns",
  };
  return description;
}

Status RopeAxial::settle(RopeAxialOptions& /*options*/, const ModelShape& shape) {
  if (shape.head_width % 4 != 0) {
    return bad_input("encoding rope-axial: expected a head width that 4 divides, found " +
                     std::to_string(shape.head_width));
  }
  return {};
}

RopeAxial::RopeAxial(const ModelShape& shape, const RopeAxialOptions& options) : WithOptions(shape, options) {
  if (options.class_angles > 0) {
    class_angles_ = normal({options.class_angles, shape.head_width / 2}, 1.0);
  }
}

std::vector<Parameter> RopeAxial::parameters() {
  return options_.class_angles > 0 ? std::vector<Parameter>{{"class_angles", &class_angles_}}
                                   : std::vector<Parameter>();
}

Status RopeAxial::accepts(const Positions& positions) const {
  LOCUS_CHECK(accepts_grid(positions, about().name));
  if (positions.prefix < options_.class_angles) {
    return bad_input("encoding rope-axial: expected " + std::to_string(options_.class_angles) +
                     " class tokens before the patches, found " + std::to_string(positions.prefix));
  }
  return {};
}

at::Tensor RopeAxial::frequencies(std::int64_t axis) const {
  return options_.alternating ? inverse_frequencies(shape_.head_width, options_.base).view({-1, 2}).select(1, axis)
                              : inverse_frequencies(shape_.head_width / 2, options_.base);
}

State RopeAxial::begin(const Positions& positions, std::int64_t /*batch*/) const {
  const auto angle = [&](std::int64_t axis) {
    const at::Tensor ids = positions.ids.select(1, axis);
    return (options_.normalised ? normalised(ids, positions.prefix) : ids).unsqueeze(1) * frequencies(axis);
  };
  const at::Tensor y = angle(0);
  const at::Tensor x = angle(1);
  const at::Tensor pairs = options_.rows_first ? at::cat({y, x}, -1) : at::cat({x, y}, -1);
  at::Tensor angles = without_prefix(pairs, positions.prefix);
  if (options_.class_angles > 0) {
    const at::Tensor own = class_angles_.to(angles.device(), at::kDouble);
    angles = at::cat({own, angles.slice(0, options_.class_angles)}, 0);
  }
  return {positions, Rotation{angles.cos(), angles.sin()}.packed()};
}

Prepared RopeAxial::prepare(const State& state, std::int64_t /*layer*/, const Projections& projections) const {
  return turned(projections, state.positions, Rotation::unpacked(state.table), options_.layout);
}

Result<PairForm> RopeAxial::pair_form(const Prepared& prepared, std::int64_t /*layer*/) const {
  PairForm form;
  form.channels = form.planes = pair_channels(shape_.head_width / 2, options_.layout);
  std::vector<at::Tensor> speeds;
  std::vector<at::Tensor> offsets;
  for (const std::int64_t axis : options_.rows_first ? std::array{0, 1} : std::array{1, 0}) {
    const at::Tensor speed = frequencies(axis);
    const at::Tensor still = at::zeros_like(speed);
    at::Tensor own = speed;
    if (options_.normalised) {  // from patch to patch, and at patch 0
      const at::Tensor ids = normalised(prepared.positions.ids.select(1, axis), prepared.positions.prefix);
      const at::Tensor patches = prepared.positions.ids.select(1, axis).slice(0, prepared.positions.prefix);
      const at::Tensor step = 4 * std::numbers::pi / (patches.max() - patches.min() + 1);
      own = speed * step;
      offsets.push_back(speed * (ids[prepared.positions.prefix] - patches[0] * step));
    }
    speeds.push_back(axis == 0 ? at::stack({own, still}, -1) : at::stack({still, own}, -1));
    for (std::int64_t m = 0; m < speed.size(0); ++m) {
      form.names.push_back(std::string(1, axis == 0 ? 'y' : 'x').append(std::to_string(m)));
    }
  }
  form.frequencies = at::cat(speeds).unsqueeze(0);
  if (options_.class_angles > 0) {
    form.class_angles = class_angles_.detach().to(at::kCPU, at::kDouble);
  }
  form.offsets = offsets.empty() ? at::Tensor() : at::cat(offsets);
  return form;
}

at::Tensor RopeAxial::vectors(const State& state, std::int64_t /*layer*/) const {
  return rotation_vectors(Rotation::unpacked(state.table)).unsqueeze(0);
}

Entry rope_axial_encoding() {
  return {RopeAxial::about(), RopeAxial::make};
}

}  // namespace locus::position
