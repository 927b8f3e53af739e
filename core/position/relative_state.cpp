#include "core/position/relative_state.h"

#include <algorithm>
#include <limits>

#include "core/position/list.h"
#include "core/position/relative.h"
#include "core/position/shared/fresh_weights.h"

namespace locus::position {

const OptionTable<RelativeStateOptions> RelativeStateOptions::kTable{
    {"extent", &RelativeStateOptions::extent, "distances that have a bias; 0: the trained length",
     Whole{0, std::int64_t{1} << 31}},
    {"states", &RelativeStateOptions::states, "d, number of profiles over the distance", Whole{1, 65536}},
    {"growth", &RelativeStateOptions::growth, "α, by which logits grow with the position; 0: not", Above{0, true}},
    {"growth_from", &RelativeStateOptions::growth_from, "n₀, tokens from which on they do", Above{0}},
};

const Description& RelativeState::about() {
  static const Description description{
      .name = "relative-state",
      .title = "Relative-state bias",
      .paper = "Inkling, as the library transformers 5.24.0 computes it",
      .equation = "τ_i·(q_i·k_j/√D + Σ_n r_i[n]·P[n, i − j]), r = W x, τ_i = 1 + α·ln(max(1, (i + 1)/n₀))",
      .content = "τ_i·q_i·k_j/√D",
      .parameters = {{"layers.N.mixing", "(H·d, C)", "W: the d numbers r of each head, from the layer's input"},
                     {"layers.N.profiles", "(d, extent)", "P: biases by distance that r mixes"}},
      .options = RelativeStateOptions::kTable.described(),
      .scores = true,
      .distance = kIndexDistance,
  };
  return description;
}

Status RelativeState::settle(RelativeStateOptions& options, const ModelShape& shape) {
  if (!shape.causal) {
    return bad_input("encoding relative-state: expected a causal model, found one whose tokens see those after them");
  }
  options.extent = options.extent > 0 ? options.extent : shape.trained_length;
  if (options.extent < 1) {
    return bad_input("option extent: expected at least 1, found 0 and no trained length");
  }
  LOCUS_CHECK(check_table("extent", options.extent, options.states));
  return check_table("states", shape.heads * options.states, shape.width);
}

RelativeState::RelativeState(const ModelShape& shape, const RelativeStateOptions& options)
    : WithOptions(shape, options),
      mixing_("mixing", shape.layers, true, {shape.heads * options.states, shape.width},
              [&] {
                return uniform({shape.heads * options.states, shape.width}, shape.width);
              }),
      profiles_("profiles", shape.layers, true, {options.states, options.extent}, [&] {
        constexpr double kDeviation = 0.02;
        return at::randn({options.states, options.extent}) * kDeviation;
      }) {}

double RelativeState::macs(std::int64_t /*layer*/, std::int64_t length) const {
  const auto each = static_cast<double>(shape_.width + std::min(options_.extent, length));
  return static_cast<double>(length) * static_cast<double>(shape_.heads * options_.states) * each;
}

Prepared RelativeState::prepare(const State& state, std::int64_t layer, const Projections& projections) const {
  Prepared prepared = PositionEncoding::prepare(state, layer, projections);
  const at::Tensor& hidden = projections.hidden;
  const at::Tensor mixed = at::linear(hidden, mixing_.of(layer).to(hidden.scalar_type()));  // (B, T, H·d)
  prepared.gate_query = mixed.unflatten(-1, {shape_.heads, options_.states}).transpose(1, 2);
  if (options_.growth > 0) {
    const at::Tensor seen = (state.positions.ids.to(at::kDouble) + 1) / options_.growth_from;
    const at::Tensor tau = (seen.clamp_min(1).log() * options_.growth + 1).unsqueeze(-1);  // (T, 1)
    prepared.query = prepared.query * tau.to(prepared.query.options());
    prepared.gate_query = prepared.gate_query * tau.to(prepared.gate_query.options());
  }
  return prepared;
}

TileScores RelativeState::score(const Prepared& prepared, const Tile& tile, const Wanted& wanted,
                                const at::Tensor& /*carry*/) const {
  TileScores scores;
  const at::Tensor content = scaled_dot(prepared.query, prepared.key, tile, scale());
  const at::Tensor by_distance = profiles_.of(tile.layer).transpose(0, 1);
  scores.logits = content + relative_term(tile_rows(prepared.gate_query, tile), by_distance, prepared.positions, tile,
                                          BeyondTable::kNothing, true)
                                .to(content.scalar_type());
  if (wanted.content) {
    scores.content = content;
  }
  return scores;
}

Result<at::Tensor> RelativeState::distances(const State& state, const Prepared& prepared, const Tile& tile) const {
  LOCUS_TRY(const at::Tensor apart, PositionEncoding::distances(state, prepared, tile));
  return apart.masked_fill(apart >= static_cast<double>(options_.extent), std::numeric_limits<double>::quiet_NaN());
}

Entry relative_state_encoding() {
  return {RelativeState::about(), RelativeState::make};
}

}  // namespace locus::position
