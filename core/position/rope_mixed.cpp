#include "core/position/rope_mixed.h"

#include <numbers>
#include <string>

#include "core/position/list.h"
#include "core/position/rope_axial.h"
#include "core/position/shared/fresh_weights.h"

namespace locus::position {

const OptionTable<RopeMixedOptions> RopeMixedOptions::kTable{
    {"base", &RopeMixedOptions::base, "of the initial frequencies", Above{1}},
};

at::Tensor mixed_frequencies(const at::Tensor& angles, std::int64_t head_width, double base) {
  const at::Tensor speed = inverse_frequencies(head_width / 2, base);
  const at::Tensor along = angles.to(at::kDouble).unsqueeze(1);
  const at::Tensor across = along + std::numbers::pi / 2;
  const at::Tensor x = at::cat({speed * along.cos(), speed * across.cos()}, 1);
  const at::Tensor y = at::cat({speed * along.sin(), speed * across.sin()}, 1);
  return at::stack({x.flatten(), y.flatten()}).to(at::kFloat);
}

const Description& RopeMixed::about() {
  static const Description description{
      .name = "rope-mixed",
      .title = "RoPE for images, mixed axes",
      .paper = "Heo et al. 2024, arXiv:2403.13298",
      .equation = "⟨R q, R k⟩/√D, pair m turns by x·F0_m + y·F1_m, F trained",
      .content = "unrotated q·k/√D, as if both patches stood at one place",
      .parameters = {{"freqs", "(2, layers, H·D/2)", "F, x first, then y; head by head"}},
      .options = RopeMixedOptions::kTable.described(),
      .rotates = true,
      .has_dot_product = true,
      .no_distance = "patches stand in rows and columns",
  };
  return description;
}

Status RopeMixed::settle(RopeMixedOptions& /*options*/, const ModelShape& shape) {
  if (shape.head_width % 4 != 0) {
    return bad_input("encoding rope-mixed: expected a head width that 4 divides, found " +
                     std::to_string(shape.head_width));
  }
  if (shape.kv_heads != shape.heads) {
    return bad_input("encoding rope-mixed: expected as many key heads as heads, found " +
                     std::to_string(shape.kv_heads) + " and " + std::to_string(shape.heads));
  }
  return {};
}

RopeMixed::RopeMixed(const ModelShape& shape, const RopeMixedOptions& options) : WithOptions(shape, options) {
  frequencies_ = initial({2, shape.layers, shape.heads * shape.head_width / 2}, [&] {
    std::vector<at::Tensor> layers;
    for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
      const at::Tensor angles = at::rand({shape.heads}, at::kDouble) * (2 * std::numbers::pi);
      layers.push_back(mixed_frequencies(angles, shape.head_width, options.base));
    }
    return at::stack(layers, 1);
  });
}

Status RopeMixed::accepts(const Positions& positions) const {
  return accepts_grid(positions, about().name);
}

at::Tensor RopeMixed::frequencies_of(std::int64_t layer) const {
  return frequencies_.select(1, layer).unflatten(1, {shape_.heads, shape_.head_width / 2}).to(at::kDouble);
}

Rotation RopeMixed::rotation_of(const Positions& positions, std::int64_t layer) const {
  const at::Tensor f = frequencies_of(layer).unsqueeze(2);
  const at::Tensor ids = positions.ids.to(f.device());
  const at::Tensor x = ids.select(1, 1).unsqueeze(1);
  const at::Tensor y = ids.select(1, 0).unsqueeze(1);
  const at::Tensor angles = without_prefix(x * f[0] + y * f[1], positions.prefix);
  return {angles.cos(), angles.sin()};
}

Prepared RopeMixed::prepare(const State& state, std::int64_t layer, const Projections& projections) const {
  return turned(projections, state.positions, rotation_of(state.positions, layer), PairLayout::kInterleaved);
}

Result<PairForm> RopeMixed::pair_form(const Prepared& /*prepared*/, std::int64_t layer) const {
  const at::NoGradGuard no_grad;
  PairForm form;
  form.channels = form.planes = pair_channels(shape_.head_width / 2, PairLayout::kInterleaved);
  form.frequencies = frequencies_of(layer).flip({0}).permute({1, 2, 0});
  return form;
}

at::Tensor RopeMixed::vectors(const State& state, std::int64_t layer) const {
  return rotation_vectors(rotation_of(state.positions, layer));
}

Entry rope_mixed_encoding() {
  return {RopeMixed::about(), RopeMixed::make};
}

}  // namespace locus::position
