#include "core/position/fox.h"

#include <algorithm>
#include <cmath>

#include "core/position/list.h"
#include "core/position/shared/fresh_weights.h"

namespace locus::position {

namespace {

// The logarithm of a gate of 0: so low that what lies before it gets no weight, and sums of it are still exact.
constexpr double kClosed = -1e4;

}  // namespace

const OptionTable<FoxOptions> FoxOptions::kTable{
    {"bias", &FoxOptions::bias, "what the bias of the gates starts at; used by training alone"},
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
  };
  return description;
}

Status Fox::settle(const FoxOptions& /*options*/, const ModelShape& shape) {
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

Prepared Fox::prepare(const State& state, std::int64_t layer, const Projections& projections) const {
  Prepared prepared = PositionEncoding::prepare(state, layer, projections);
  const at::Tensor asked = at::linear(projections.hidden, gate_.of(layer), bias_.of(layer));  // (B, T, H)
  prepared.gate_query = at::log_sigmoid(asked).transpose(1, 2).unsqueeze(-1);
  return prepared;
}

at::Tensor Fox::log_gates(const Prepared& prepared) const {
  if (!prepared.given_gates.defined()) {
    return prepared.gate_query;
  }
  const at::Tensor given = prepared.given_gates.unsqueeze(-1);
  const at::Tensor logs = given.log().clamp_min(kClosed).to(prepared.gate_query.scalar_type());
  return at::where(given.isnan(), prepared.gate_query, logs);
}

TileScores Fox::score(const Prepared& prepared, const Tile& tile, const Wanted& wanted,
                      const at::Tensor& /*carry*/) const {
  TileScores scores;
  at::Tensor content = scaled_dot(prepared.query, prepared.key, tile, scale());
  if (wanted.content) {
    scores.content = content;
  }
  const std::int64_t begin = std::min(tile.rows.begin, tile.columns.begin);
  const std::int64_t end = std::max(tile.rows.end, tile.columns.end);
  const at::Tensor gates = tile_rows(log_gates(prepared), {tile.layer, tile.heads, {begin, end}, {}}).squeeze(-1);
  const at::Tensor sums = gates.cumsum(-1, at::kDouble);  // (B, h, end − begin)
  const auto of = [&](Range tokens) { return sums.slice(-1, tokens.begin - begin, tokens.end - begin); };
  const at::Tensor forgotten = (of(tile.rows).unsqueeze(-1) - of(tile.columns).unsqueeze(-2)).to(content.scalar_type());
  scores.logits = wanted.content || at::GradMode::is_enabled() ? content + forgotten : content.add_(forgotten);
  return scores;
}

Entry fox_encoding() {
  return {Fox::about(), Fox::make};
}

}  // namespace locus::position
