#include "core/position/cope/cope.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "core/position/alibi.h"
#include "core/position/cope/function.h"
#include "core/position/list.h"
#include "core/position/relative.h"
#include "core/position/shared/additive_bias.h"
#include "core/position/shared/fresh_weights.h"

namespace locus::position {

namespace {

// The logit of a given gate of 1, and with a minus of 0: float32's σ is 1 there, and less than 1e-34.
constexpr double kForced = 80;

// Columns whose gates are summed at once where a tile comes without carry.
constexpr std::int64_t kCarryBlock = 1024;

at::Tensor slopes_of(const CopeOptions& options, std::int64_t heads) {
  std::vector<double> slopes = alibi_slopes(heads);
  for (std::size_t head = 0; options.slopes != "alibi" && head < slopes.size(); ++head) {
    slopes[head] = std::exp2(-static_cast<double>(head)) * options.first_slope;
  }
  return constant(slopes);
}

}  // namespace

Result<std::unique_ptr<PositionEncoding>> Cope::make(const Settings& options, const ModelShape& shape) {
  LOCUS_TRY(CopeOptions typed, CopeOptions::from(options));
  if (!shape.causal) {
    return bad_input("encoding cope: expected a causal model, since positions count the keys up to the query");
  }
  LOCUS_CHECK(check_table("p_max", typed.p_max + 1, shape.head_width));
  std::int64_t rotated_width = 0;
  if (typed.with == "rope") {
    LOCUS_TRY(rotated_width, typed.rope.rotated_width(shape));
  }
  if (typed.with == "relative") {
    typed.relative_length = typed.relative_length > 0 ? typed.relative_length : shape.trained_length;
    if (typed.relative_length < 1) {
      return bad_input("option relative_length: expected at least 1, found 0 and no trained length");
    }
    LOCUS_CHECK(check_table("relative_length", typed.relative_length, shape.head_width));
  }
  return std::unique_ptr<PositionEncoding>(std::make_unique<Cope>(shape, std::move(typed), rotated_width));
}

Cope::Cope(const ModelShape& shape, CopeOptions options, std::int64_t rotated_width)
    : WithOptions(shape, std::move(options)), rotated_width_(rotated_width), description_(about()) {
  const std::int64_t width = shape.head_width;
  const std::int64_t layers = shape.layers;
  const bool own = options_.per_layer;
  if (options_.form == "interpolate") {
    embedding_ = {"position_embedding", layers, own, {width, options_.p_max + 1}, [&] {
                    return at::zeros({width, options_.p_max + 1});
                  }};
  } else if (options_.form == "mlp") {
    hidden_weight_ = {"mlp.0.weight", layers, own, {options_.hidden, 1}, [&] {
                        return uniform({options_.hidden, 1}, 1);
                      }};
    hidden_bias_ = {"mlp.0.bias", layers, own, {options_.hidden}, [&] { return uniform({options_.hidden}, 1); }};
    output_weight_ = {"mlp.2.weight", layers, own, {width, options_.hidden}, [&] {
                        return uniform({width, options_.hidden}, options_.hidden);
                      }};
    output_bias_ = {"mlp.2.bias", layers, own, {width}, [&] { return uniform({width}, options_.hidden); }};
  } else if (options_.slopes == "learned") {
    slopes_ = {"slopes", layers, true, {shape.heads}, [&] { return at::zeros({shape.heads}); }};
  } else {
    fixed_slopes_ = slopes_of(options_, shape.heads);
  }
  if (options_.with == "relative") {
    relative_ = {"relative_embedding", layers, own, {options_.relative_length, width}, [&] {
                   return at::zeros({options_.relative_length, width});
                 }};
  }
  if (options_.gates == "sep-key") {
    gate_key_ = {"gate_key.weight", layers, true, {shape.kv_heads * width, shape.width}, [&] {
                   return uniform({shape.kv_heads * width, shape.width}, shape.width);
                 }};
    if (options_.gate_bias) {
      gate_bias_ = {"gate_key.bias", layers, true, {shape.kv_heads * width}, [&] {
                      return uniform({shape.kv_heads * width}, shape.width);
                    }};
    }
  }
  description_.rotates = options_.with == "rope";
  description_.has_dot_product = options_.with == "rope";
}

State Cope::begin(const Positions& positions, std::int64_t /*batch*/) const {
  if (options_.with != "rope") {
    return {positions, {}};
  }
  return {positions, options_.rope.rotation_at(positions.ids, rotated_width_, shape_).packed()};
}

at::Tensor Cope::vectors(const State& state, std::int64_t /*layer*/) const {
  return state.table.defined() ? rotation_vectors(Rotation::unpacked(state.table)).unsqueeze(0) : at::Tensor();
}

Prepared Cope::prepare(const State& state, std::int64_t layer, const Projections& projections) const {
  Prepared prepared;
  prepared.query = projections.query;
  prepared.key = projections.key;
  prepared.positions = state.positions;
  if (options_.with == "rope") {
    const Rotation turn = Rotation::unpacked(state.table);
    prepared.query = rotate(projections.query, turn, options_.rope.layout);
    prepared.key = rotate(projections.key, turn, options_.rope.layout);
    prepared.content_query = projections.query;
    prepared.content_key = projections.key;
  }
  if (!counts(layer)) {
    return prepared;
  }
  if (options_.gates == "sep-key") {
    const at::Tensor bias = gate_bias_.empty() ? at::Tensor() : gate_bias_.of(layer);
    prepared.gate_key = at::linear(projections.hidden, gate_key_.of(layer), bias)
                            .unflatten(-1, {shape_.kv_heads, shape_.head_width})
                            .transpose(1, 2);
    prepared.gate_query = projections.query;
  } else if (options_.gates == "value") {
    prepared.gate_key = projections.value;
    prepared.gate_query = projections.query;
  } else if (options_.with == "rope" && !options_.rotate_gates) {
    prepared.gate_key = projections.key;
    prepared.gate_query = projections.query;
  }
  return prepared;
}

Result<at::Tensor> Cope::distances(const State& /*state*/, const Prepared& prepared, const Tile& tile) const {
  if (!counts(tile.layer)) {
    return unsupported("encoding cope: this layer counts no keys");
  }
  const TileScores scores = score(prepared, tile, Wanted{.positions = true}, {});
  return scores.positions.select(0, 0).select(0, 0).select(0, 0).to(at::kCPU, at::kDouble);
}

double Cope::macs(std::int64_t layer, std::int64_t length) const {
  const auto tokens = static_cast<double>(length);
  const auto width = static_cast<double>(shape_.heads * shape_.head_width);
  double sum = 0;
  if (options_.with == "relative") {
    sum += tokens * width * static_cast<double>(std::min(options_.relative_length, length));
  }
  if (!counts(layer)) {
    return sum;
  }
  const bool unrotated = options_.with == "rope" && !options_.rotate_gates;
  if (options_.gates != "key" || unrotated) {  // else the logits' own products
    sum += tokens * tokens * width;
  }
  if (options_.gates == "sep-key") {
    sum += tokens * static_cast<double>(shape_.width * shape_.kv_heads * shape_.head_width);
  }
  if (options_.form == "interpolate") {
    sum += tokens * width * static_cast<double>(options_.p_max + 1);
  } else if (options_.form == "mlp") {  // q meets the last layer's rows once, each cell the hidden units
    const auto hidden = static_cast<double>(options_.hidden);
    sum += tokens * width * (hidden + 1) + tokens * tokens * static_cast<double>(shape_.heads) * 2 * hidden;
  }
  return sum;
}

at::Tensor Cope::gate_logits(const Prepared& prepared, const Tile& tile) const {
  const at::Tensor& query = prepared.gate_query.defined() ? prepared.gate_query : prepared.query;
  const at::Tensor& key = prepared.gate_key.defined() ? prepared.gate_key : prepared.key;
  const at::Tensor logits = scaled_dot(query, key, tile, scale());
  if (!prepared.given_gates.defined()) {
    return logits;
  }
  const at::Tensor given = prepared.given_gates.slice(1, tile.heads.begin, tile.heads.end)
                               .slice(2, tile.columns.begin, tile.columns.end)
                               .unsqueeze(2);  // (B, h, 1, K)
  const at::Tensor forced = at::logit(given).clamp(-kForced, kForced).to(logits.scalar_type());
  return at::where(given.isnan(), logits, forced);
}

at::Tensor Cope::carry_into(const Prepared& prepared, const Tile& tile) const {
  at::Tensor carry = at::zeros({prepared.query.size(0), tile.heads.size(), tile.rows.size()},
                               prepared.query.options().dtype(at::kDouble));
  const std::int64_t end = std::min(tile.rows.end, prepared.key.size(2));
  for (std::int64_t begin = tile.columns.end; begin < end; begin += kCarryBlock) {
    const Tile right{tile.layer, tile.heads, tile.rows, {begin, std::min(begin + kCarryBlock, end)}};
    carry = carry + visible_gates(gate_logits(prepared, right), right).sum(-1, false, at::kDouble);
  }
  return carry;
}

TileScores Cope::score(const Prepared& prepared, const Tile& tile, const Wanted& wanted,
                       const at::Tensor& carry) const {
  TileScores scores;
  CopeTile work;
  work.content = scaled_dot(prepared.query, prepared.key, tile, scale());
  if (wanted.content) {
    scores.content = work.content;
  }
  const at::Tensor& asking = prepared.content_query.defined() ? prepared.content_query : prepared.query;
  work.rows = tile_rows(asking, tile);
  work.biased = work.content;
  if (options_.with == "relative") {
    work.biased = work.content + relative_term(work.rows * scale(), relative_.of(tile.layer), prepared.positions, tile,
                                               BeyondTable::kNothing, true);
  }
  if (!counts(tile.layer) || tile.columns.empty()) {
    scores.logits = work.biased;
    scores.carry = carry;
    return scores;
  }
  const bool own_logits = prepared.gate_key.defined() || prepared.given_gates.defined();
  work.gate_logits = own_logits ? gate_logits(prepared, tile) : work.content;
  work.carry = carry.defined() ? carry : carry_into(prepared, tile);
  fill(work, tile);
  if (kernels_apply(work.biased) && !work.learning() && options_.form != "mlp") {
    fused_cope(work, tile, wanted, scores);
  } else if (cope_function_applies(work) && work.learning() && !wanted.gates && !wanted.positions) {
    work.carry = work.carry.to(work.biased.dtype());
    std::tie(scores.logits, scores.carry) = learned_cope(work, tile);
  } else {
    differentiable_cope(work, tile, scores);
  }
  return scores;
}

std::optional<RowForm> Cope::row_form(const Prepared& prepared, std::int64_t layer) const {
  if (options_.with == "relative" || (options_.form == "mlp" && counts(layer))) {
    return std::nullopt;
  }
  RowForm form;
  form.counts = counts(layer);
  if (!form.counts) {
    return form;
  }
  form.asking = prepared.content_query.defined() ? prepared.content_query : prepared.query;
  if (options_.form == "interpolate") {
    form.vectors = embedding_.of(layer) * (options_.scale_positions ? scale() : 1.0);
    form.p_max = static_cast<double>(options_.p_max);
  } else {
    form.slopes = slopes_.empty() ? fixed_slopes_ : slopes_.of(layer);
    form.p_max = std::numeric_limits<double>::infinity();
  }
  return form;
}

void Cope::fill(CopeTile& work, const Tile& tile) const {
  if (options_.form == "interpolate") {
    const double factor = options_.scale_positions ? scale() : 1.0;
    work.table = at::matmul(work.rows * factor, embedding_.of(tile.layer).to(work.rows.dtype()));
    work.p_max = static_cast<double>(options_.p_max);
  } else if (options_.form == "mlp") {
    const double factor = options_.scale_positions ? scale() : 1.0;
    work.network = {hidden_weight_.of(tile.layer).select(1, 0), hidden_bias_.of(tile.layer),
                    at::matmul(work.rows * factor, output_weight_.of(tile.layer)),
                    at::matmul(work.rows * factor, output_bias_.of(tile.layer))};
  } else {
    const at::Tensor slopes = slopes_.empty() ? fixed_slopes_ : slopes_.of(tile.layer);
    work.slopes = slopes.slice(0, tile.heads.begin, tile.heads.end).to(work.rows.options());
  }
}

const OptionTable<CopeOptions> kCopeOptions{
    {"gates", &CopeOptions::gates,
     "what gates are computed from: key, sep-key (own projection of the layer's input), value",
     OneOf{{"key", "sep-key", "value"}}},
    {"form", &CopeOptions::form, "interpolate; mlp (CoPE_MLP: a network of p); alibi (CoPE_ALiBi: m·p)",
     OneOf{{"interpolate", "mlp", "alibi"}}},
    {"with", &CopeOptions::with, "none; relative (adds Shaw's term); rope (content from rotated q and k)",
     OneOf{{"none", "relative", "rope"}}},
    {"p_max", &CopeOptions::p_max, "largest position; positions 0 … p_max have vectors", Whole{1, 1 << 24}},
    {"scale_positions", &CopeOptions::scale_positions,
     "divide q·e[p] by √D too, as the published repository does by default"},
    {"per_layer", &CopeOptions::per_layer, "every layer has its own position vectors: layers.N.…"},
    {"every", &CopeOptions::every, "CoPE in layers 0, K, 2K …; the others have `with` alone", Whole{1, 1 << 20}},
    {"rotate_gates", &CopeOptions::rotate_gates, "with rope: gates from the rotated q and k"},
    {"hidden", &CopeOptions::hidden, "units of CoPE_MLP's network", Whole{1, 1 << 16}},
    {"slopes", &CopeOptions::slopes, "CoPE_ALiBi: halving (first_slope·2^−h), alibi (ALiBi's), learned (from 0)",
     OneOf{{"halving", "alibi", "learned"}}},
    {"first_slope", &CopeOptions::first_slope, "CoPE_ALiBi with halving slopes: m of head 0"},
    {"relative_length", &CopeOptions::relative_length, "with relative: distances with a vector; 0: the trained length",
     Whole{0, std::int64_t{1} << 31}},
    {"gate_bias", &CopeOptions::gate_bias, "gates sep-key: the projection W_g has a bias"},
    {"hard_attention", &CopeOptions::hard_attention, "attend to the largest logit alone; evaluation only"},
};

Result<CopeOptions> CopeOptions::from(const Settings& settings) {
  LOCUS_TRY(CopeOptions options, kCopeOptions.read(settings));
  LOCUS_TRY(options.rope, RopeOptions::from(settings));
  if (options.rope.norm) {
    return bad_input("option norm: expected none beside gates, found true");
  }
  if (options.rope.by_heads()) {
    return bad_input("option section_layout: expected pairs dealt within a head beside gates, found heads");
  }
  if (options.gate_bias && options.gates != "sep-key") {
    return bad_input("option gate_bias: expected false unless gates is sep-key, found true with gates " +
                     options.gates);
  }
  if (!std::isfinite(options.first_slope)) {
    return wrong_option("first_slope", "a number", options.first_slope);
  }
  return options;
}

Settings CopeOptions::settings() const {
  return kCopeOptions.written(*this, rope.settings());
}

const Description& Cope::about() {
  static const Description description{
      .name = "cope",
      .title = "Contextual position encoding (CoPE)",
      .paper = "Golovneva et al. 2024, arXiv:2405.18719",
      .equation = "q_i·k_j/√D + q_i·e[p_ij], p_ij = min(Σ_{k=j..i} σ(q_i·k_k/√D), p_max)",
      .content = "q·k/√D (rotated with `with: rope`)",
      .parameters = {{"position_embedding", "(D, p_max + 1)", "e, shared by heads; form interpolate"},
                     {"layers.N.gate_key.weight", "(Hkv·D, C)", "W_g; gates sep-key"},
                     {"layers.N.gate_key.bias", "(Hkv·D)", "b_g; gates sep-key with gate_bias"},
                     {"relative_embedding", "(relative_length, D)", "Shaw's vectors; with relative"},
                     {"mlp.0.weight", "(hidden, 1)", "form mlp"},
                     {"mlp.0.bias", "(hidden)", "form mlp"},
                     {"mlp.2.weight", "(D, hidden)", "form mlp"},
                     {"mlp.2.bias", "(D)", "form mlp"},
                     {"layers.N.slopes", "(H)", "m; form alibi with learned slopes"}},
      .options = kCopeOptions.described(RopeOptions::described()),
      .scores = true,
      .has_gates = true,
      .has_waves = true,
      .waves_where = {"with", "rope"},
      .distance = "p_ij",
  };
  return description;
}

Entry cope_encoding() {
  return {Cope::about(), Cope::make};
}

}  // namespace locus::position
