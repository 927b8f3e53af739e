#include "core/position/fox.h"

#include <cmath>
#include <string>

#include "core/position/list.h"
#include "core/position/shared/forgetting.h"
#include "core/position/shared/fresh_weights.h"
#include "core/position/shared/rotation.h"

namespace locus::position {

const OptionTable<FoxOptions> FoxOptions::kTable{
    {"bias", &FoxOptions::bias, "what the bias of the gates starts at; used by training alone"},
    {"rope", &FoxOptions::rope, "q and k are turned by RoPE too"},
    {"base", &FoxOptions::base, "its base: θ_m = base^(−2m/D)", Above{1}},
};

Status FoxOptions::check() const {
  return std::isfinite(bias) ? Status() : Status(wrong_option("bias", "a finite number", bias));
}

const Description& Fox::about() {
  static const Description description{
      .name = "fox",
      .title = "Forget gates (FoX)",
      .paper = "Lin et al. 2025, arXiv:2503.02130",
      .equation = "q_i·k_j/√D + Σ_{l=j+1..i} ln σ(w·x_l + b)",
      .content = "q·k/√D",
      .parameters = {{"layers.N.gate", "(H, C)", "w: a gate per head from the layer's input"},
                     {"layers.N.gate_bias", "(H)", "b"}},
      .options = FoxOptions::kTable.described(),
      .scores = true,
      .forgets = true,
      .no_distance = "its gates say how much of a key is kept",
  };
  return description;
}

const Description& Fox::description() const {
  static const Description turning = [] {
    Description description = about();
    description.rotates = true;
    description.content = "q·k/√D, unrotated";
    return description;
  }();
  return options_.rope ? turning : about();
}

Status Fox::settle(const FoxOptions& options, const ModelShape& shape) {
  if (options.rope && shape.head_width % 2 != 0) {
    return bad_input("encoding fox: expected heads of an even width, found " + std::to_string(shape.head_width));
  }
  return shape.causal
             ? Status()
             : Status(bad_input("encoding fox: expected a causal model, found one whose tokens see those after them"));
}

Fox::Fox(const ModelShape& shape, const FoxOptions& options)
    : WithOptions(shape, options),
      gate_("gate", shape.layers, true, {shape.heads, shape.width},
            [&] {
              return uniform({shape.heads, shape.width}, shape.width);
            }),
      bias_("gate_bias", shape.layers, true, {shape.heads}, [&] { return at::full({shape.heads}, options.bias); }) {}

double Fox::macs(std::int64_t /*layer*/, std::int64_t length) const {
  return static_cast<double>(length) * static_cast<double>(shape_.heads * shape_.width);
}

State Fox::begin(const Positions& positions, std::int64_t batch) const {
  if (!options_.rope) {
    return PositionEncoding::begin(positions, batch);
  }
  return {positions, rotation(positions.ids, inverse_frequencies(shape_.head_width, options_.base)).packed()};
}

Prepared Fox::prepare(const State& state, std::int64_t layer, const Projections& projections) const {
  Prepared prepared = options_.rope
                          ? turned(projections, state.positions, Rotation::unpacked(state.table), PairLayout::kHalf)
                          : PositionEncoding::prepare(state, layer, projections);
  const at::Tensor asked = at::linear(projections.hidden, gate_.of(layer), bias_.of(layer));  // (B, T, H)
  prepared.gate_query = at::log_sigmoid(asked).transpose(1, 2).unsqueeze(-1);
  return prepared;
}

at::Tensor Fox::log_gates(const Prepared& prepared) const {
  return gates_with_given(prepared.gate_query, prepared.given_gates);
}

TileScores Fox::score(const Prepared& prepared, const Tile& tile, const Wanted& wanted,
                      const at::Tensor& /*carry*/) const {
  TileScores scores;
  at::Tensor product = scaled_dot(prepared.query, prepared.key, tile, scale());
  if (wanted.content && !options_.rope) {
    scores.content = product;
  } else if (wanted.content && prepared.content_query.defined()) {
    scores.content = scaled_dot(prepared.content_query, prepared.content_key, tile, scale());
  }
  const at::Tensor lost = forgotten(log_gates(prepared), tile, product);
  scores.logits = wanted.content || at::GradMode::is_enabled() ? product + lost : product.add_(lost);
  return scores;
}

Entry fox_encoding() {
  return {Fox::about(), Fox::make};
}

}  // namespace locus::position
