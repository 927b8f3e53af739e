#include "core/position/grape.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "core/position/alibi.h"
#include "core/position/list.h"
#include "core/position/shared/fresh_weights.h"
#include "core/position/shared/rotation.h"

namespace locus::position {

namespace {

constexpr Words kGrapeForms{WordTable<GrapeOptions::Form, 4>{{{"multiplicative", GrapeOptions::Form::kMultiplicative},
                                                              {"contextual", GrapeOptions::Form::kContextual},
                                                              {"additive", GrapeOptions::Form::kAdditive},
                                                              {"path", GrapeOptions::Form::kPath}}}};
constexpr Words kGatedWords{WordTable<GrapeOptions::Gated, 3>{{{"key", GrapeOptions::Gated::kKey},
                                                               {"query", GrapeOptions::Gated::kQuery},
                                                               {"both", GrapeOptions::Gated::kBoth}}}};
constexpr std::int64_t kMaxPathWidth = 65536;
constexpr double kFirstStep = 1e-3;    // of the clock, as its authors begin, who took its gate for ln(1 + e^x)
constexpr double kShortest = 1e-6;     // length that u and v are divided by at least
constexpr double kGrownIsLinear = 38;  // where ln(1 + e^x) is x to the last digit of float64

// x such that ln(1 + e^x) = y.
double before_softplus(double y) {
  return std::log(std::expm1(y));
}

at::Tensor grown(const at::Tensor& x) {
  return at::softplus(x, 1, kGrownIsLinear);
}

// Each vector of the last dimension divided by its length.
at::Tensor of_unit_length(const at::Tensor& vectors) {
  return vectors / vectors.square().sum(-1, true).sqrt().clamp_min(kShortest);
}

// p/√(mean p²), with the epsilon that PyTorch's rms_norm has for the type.
at::Tensor with_unit_mean_square(const at::Tensor& x) {
  const double epsilon = x.scalar_type() == at::kDouble ? std::numeric_limits<double>::epsilon()
                                                        : static_cast<double>(std::numeric_limits<float>::epsilon());
  return x * at::rsqrt(x.square().mean(-1, true) + epsilon);
}

// (B, H, T, e) numbers of each query head as (B, Hkv, T, G·e) of its key head, and the columns of a tile of them,
// (B, h, K, e).
at::Tensor beside_keys(const at::Tensor& numbers, std::int64_t kv_heads) {
  return numbers.unflatten(1, {kv_heads, numbers.size(1) / kv_heads}).transpose(2, 3).flatten(3);
}
at::Tensor columns_of_heads(const at::Tensor& kept, const Tile& tile, std::int64_t heads) {
  const std::int64_t group = heads / kept.size(1);
  return kept.slice(2, tile.columns.begin, tile.columns.end)
      .unflatten(-1, {group, kept.size(3) / group})
      .transpose(2, 3)
      .flatten(1, 2)
      .slice(1, tile.heads.begin, tile.heads.end);
}

}  // namespace

const OptionTable<GrapeOptions> GrapeOptions::kTable{
    {"form", &GrapeOptions::form,
     "multiplicative: RoPE with learned frequencies; contextual: turned by a clock of the text; additive: distances "
     "that queries and keys weigh; path: gates of pairs of tokens",
     kGrapeForms},
    {"base", &GrapeOptions::base, "θ_m starts as base^(−2m/D)", Above{1}},
    {"scale", &GrapeOptions::scale,
     "s: what the logarithms of the frequencies (multiplicative) or the input of the clock (contextual) are divided by",
     Above{0}},
    {"per_head", &GrapeOptions::per_head, "contextual: each head has its own clock"},
    {"gated", &GrapeOptions::gated, "additive: key, query or both: what weighs the distance", kGatedWords},
    {"width", &GrapeOptions::width, "path: d, channels of p in each head; 0: those of a head", Whole{0, kMaxPathWidth}},
    {"norm", &GrapeOptions::norm, "multiplicative, contextual: q and k are normed behind the rotation"},
    {"norm_eps", &GrapeOptions::norm_eps, "epsilon of that norm", Above{0}, "1e-5"},
};

const Description& Grape::about() {
  static const Description description{
      .name = "grape",
      .title = "Group representational position encoding (GRAPE)",
      .paper = "Zhang et al. 2025, arXiv:2512.07805",
      .equation = "⟨R_i q_i, R_j k_j⟩/√D, R_i turns pair m by −i·θ_m, θ = e^{f/s} trained",
      .content = "q·k/√D, unrotated",
      .parameters = {{"layers.N.log_frequencies", "(D/2)", "f; forms multiplicative and contextual"},
                     {"layers.N.clock", "(1, C)", "w; form contextual; per_head: (H, C)"},
                     {"layers.N.clock_bias", "(1)", "b; likewise"},
                     {"layers.N.rate", "(H)", "ω; form additive"},
                     {"layers.N.key_direction", "(H, D)", "u; form additive, gated by keys"},
                     {"layers.N.query_direction", "(H, D)", "v; form additive, gated by queries"},
                     {"layers.N.path", "(H·d, C)", "W; form path"},
                     {"layers.N.query_norm", "(D)", "norm: w of the queries"},
                     {"layers.N.key_norm", "(D)", "norm: w of the keys"}},
      .options = GrapeOptions::kTable.described(),
      .rotates = true,
      .has_dot_product = true,
      .distance = kIndexDistance,
  };
  return description;
}

const Description& Grape::description() const {
  static const Description contextual = [] {
    Description description = about();
    description.has_dot_product = description.rotates = false;
    description.scores = description.learns_positions = true;
    description.distance = "Φ_i − Φ_j";
    return description;
  }();
  static const Description scoring = [] {
    Description description = about();
    description.has_dot_product = description.rotates = false;
    description.scores = true;
    return description;
  }();
  static const Description path = [] {
    Description description = scoring;
    description.distance = "";
    description.no_distance = "gates of pairs of tokens say how much of a key is kept";
    return description;
  }();
  return options_.form == Form::kMultiplicative ? about()
         : options_.form == Form::kContextual   ? contextual
         : options_.form == Form::kPath         ? path
                                                : scoring;
}

Status Grape::settle(const GrapeOptions& options, const ModelShape& shape) {
  const bool turns = options.form == Form::kMultiplicative || options.form == Form::kContextual;
  if (turns && shape.head_width % 2 != 0) {
    return bad_input("encoding grape: expected heads of an even width, found " + std::to_string(shape.head_width));
  }
  if (!turns && options.norm) {
    return bad_input(
        "option norm: expected false in a form that turns no pairs, where the layer norms q and k, found true");
  }
  if (options.form == Form::kPath) {
    const std::int64_t width = options.width > 0 ? options.width : shape.head_width;
    if (width % 2 != 0 || width > kMaxPathWidth) {
      return wrong_option("width", "an even number of channels up to " + std::to_string(kMaxPathWidth), width);
    }
    LOCUS_CHECK(check_table("width", shape.heads * width, shape.width));
  }
  if (options.form != Form::kMultiplicative && !shape.causal) {
    return bad_input("encoding grape: expected a causal model, found one whose tokens see those after them");
  }
  return {};
}

Grape::Grape(const ModelShape& shape, const GrapeOptions& options) : WithOptions(shape, options) {
  const auto own = [&](const char* name, const std::vector<std::int64_t>& sizes,
                       const std::function<at::Tensor()>& make) {
    return LayerParameter(name, shape.layers, true, sizes, make);
  };
  const auto width = static_cast<double>(shape.head_width);
  const bool contextual = options.form == Form::kContextual;
  if (contextual || options.form == Form::kMultiplicative) {
    log_frequencies_ = own("log_frequencies", {shape.head_width / 2}, [&] {
      const at::Tensor logs = inverse_frequencies(shape.head_width, options.base).log();
      return (contextual ? logs : logs * options.scale).to(at::kFloat);
    });
  }
  if (contextual) {
    const std::int64_t clocks = options.per_head ? shape.heads : 1;
    clock_ = own("clock", {clocks, shape.width}, [=] { return at::zeros({clocks, shape.width}); });
    clock_bias_ = own("clock_bias", {clocks}, [=] { return at::full({clocks}, before_softplus(kFirstStep)); });
  }
  if (options.form == Form::kAdditive || options.form == Form::kPath) {
    slopes_ = constant(alibi_slopes(shape.heads));
  }
  if (options.form == Form::kAdditive) {
    const auto direction = [&] { return at::randn({shape.heads, shape.head_width}) / std::sqrt(width); };
    rate_ = own("rate", {shape.heads}, [&] { return at::full({shape.heads}, before_softplus(1)); });
    if (options.gated != Gated::kQuery) {
      key_direction_ = own("key_direction", {shape.heads, shape.head_width}, direction);
    }
    if (options.gated != Gated::kKey) {
      query_direction_ = own("query_direction", {shape.heads, shape.head_width}, direction);
    }
  }
  if (options.form == Form::kPath) {
    path_width_ = options.width > 0 ? options.width : shape.head_width;
    const std::int64_t rows = path_width_ * shape.heads;
    path_ = own("path", {rows, shape.width}, [=] { return uniform({rows, shape.width}, shape.width); });
  }
  if (options.norm) {
    const auto one = [&] { return at::ones({shape.head_width}); };
    query_norm_ = own("query_norm", {shape.head_width}, one);
    key_norm_ = own("key_norm", {shape.head_width}, one);
  }
}

std::vector<Parameter> Grape::parameters() {
  return parameters_of({&log_frequencies_, &clock_, &clock_bias_, &rate_, &key_direction_, &query_direction_, &path_,
                        &query_norm_, &key_norm_});
}

std::int64_t Grape::query_numbers() const {
  return options_.form == Form::kContextual ? 1
         : options_.form == Form::kAdditive ? (query_direction_.empty() ? 0 : 1)
                                            : path_width_;
}

std::int64_t Grape::key_numbers() const {
  const std::int64_t group = shape_.heads / shape_.kv_heads;
  return options_.form == Form::kAdditive ? (key_direction_.empty() ? 0 : group) : group * path_width_;
}

double Grape::macs(std::int64_t /*layer*/, std::int64_t length) const {
  const auto tokens = static_cast<double>(length);
  const auto heads = static_cast<double>(shape_.heads);
  const auto width = static_cast<double>(shape_.width);
  switch (options_.form) {
    case Form::kMultiplicative:
      return 0;
    case Form::kContextual:
      return tokens * width * (options_.per_head ? heads : 1);
    case Form::kAdditive:
      return tokens * heads * static_cast<double>(shape_.head_width) * (options_.gated == Gated::kBoth ? 2 : 1);
    case Form::kPath:
      break;
  }
  const double own = heads * static_cast<double>(path_width_);
  return tokens * own * (width + tokens);
}

at::Tensor Grape::frequencies(std::int64_t layer) const {
  const at::Tensor logs = log_frequencies_.of(layer).to(at::kDouble);
  return (options_.form == Form::kMultiplicative ? logs / options_.scale : logs).exp();
}

at::Tensor Grape::of_one_size(const at::Tensor& x) const {
  return options_.norm ? x * at::rsqrt(x.square().mean(-1, true) + options_.norm_eps) : x;
}

at::Tensor Grape::weighted(const at::Tensor& x, const LayerParameter& weights, std::int64_t layer) const {
  return weights.empty() ? x : x * weights.of(layer).to(x.options());
}

Prepared Grape::prepare(const State& state, std::int64_t layer, const Projections& projections) const {
  if (options_.form == Form::kMultiplicative) {
    const at::Tensor there = frequencies(layer).to(state.positions.ids.device());
    Prepared prepared =
        turned(projections, state.positions, rotation(state.positions.ids, there), PairLayout::kSwapped);
    if (options_.norm) {
      prepared.query = weighted(of_one_size(prepared.query), query_norm_, layer);
      prepared.content_query = weighted(of_one_size(prepared.content_query), query_norm_, layer);
      prepared.key = weighted(of_one_size(prepared.key), key_norm_, layer);
      prepared.content_key = weighted(of_one_size(prepared.content_key), key_norm_, layer);
    }
    return prepared;
  }
  Prepared prepared = PositionEncoding::prepare(state, layer, projections);
  const std::int64_t heads = shape_.heads;
  if (options_.form == Form::kContextual) {
    const at::Tensor asked = at::linear(projections.hidden, clock_.of(layer), clock_bias_.of(layer));  // (B, T, 1 or H)
    prepared.query = of_one_size(prepared.query);  // the size is the same before and behind a rotation
    prepared.key = of_one_size(prepared.key);
    prepared.gate_query = at::sigmoid(asked / options_.scale).transpose(1, 2).expand({-1, heads, -1}).unsqueeze(-1);
    return prepared;
  }
  if (options_.form == Form::kAdditive) {
    const at::Tensor& query = projections.query;
    const auto as_scores = [&](const at::Tensor& numbers) { return numbers.to(query.options()); };
    const at::Tensor factor = as_scores(grown(rate_.of(layer)) * slopes_.to(rate_.of(layer).options()));  // (H)
    // (B, H, T, 1)
    const auto term = [&](const at::Tensor& x, const LayerParameter& directions) {
      const at::Tensor own = x.size(1) == heads ? x : x.repeat_interleave(heads / x.size(1), 1);
      const at::Tensor along = (own * as_scores(of_unit_length(directions.of(layer))).unsqueeze(1)).sum(-1);
      return (grown(along * scale()) * factor.unsqueeze(1)).unsqueeze(-1);
    };
    if (!query_direction_.empty()) {
      prepared.gate_query = term(query, query_direction_);
    }
    if (!key_direction_.empty()) {
      prepared.gate_key = beside_keys(term(projections.key, key_direction_), shape_.kv_heads);
    }
    return prepared;
  }
  prepared.gate_query =
      at::linear(projections.hidden, path_.of(layer)).unflatten(-1, {heads, path_width_}).transpose(1, 2);
  prepared.gate_key = beside_keys(with_unit_mean_square(prepared.gate_query), shape_.kv_heads);
  return prepared;
}

at::Tensor Grape::learned_positions(const Prepared& prepared) const {
  if (options_.form != Form::kContextual) {
    return {};
  }
  const at::Tensor steps = prepared.gate_query.to(at::kDouble);
  return (steps.cumsum(2) - steps).to(prepared.gate_query.scalar_type());
}

Prepared Grape::placed(const Prepared& prepared, const at::Tensor& positions) const {
  if (options_.form != Form::kContextual) {
    return prepared;
  }
  Prepared moved = prepared;
  const std::int64_t tokens = positions.size(2);
  const at::Tensor between = positions.slice(2, 1) - positions.slice(2, 0, tokens - 1);
  moved.gate_query = at::cat({between, prepared.gate_query.slice(2, tokens - 1)}, 2);
  return moved;
}

at::Tensor Grape::clocked(const Prepared& prepared, const Tile& tile) const {
  // Differences of Φ alone count: those of the tokens from the tile's first on. The weights of a norm multiply channels
  // that stand turned by Φ itself: with them the clock counts from token 0.
  const std::int64_t begin = options_.norm ? 0 : std::min(tile.rows.begin, tile.columns.begin);
  const std::int64_t end = std::max(tile.rows.end, tile.columns.end);
  const at::Tensor steps =
      tile_rows(prepared.gate_query, {tile.layer, tile.heads, {begin, end}, {}}).to(at::kDouble);    // (B, h, n, 1)
  const at::Tensor angles = (steps.cumsum(2) - steps) * frequencies(tile.layer).to(steps.device());  // (B, h, n, D/2)
  const auto turn = [&](const at::Tensor& x, Range tokens) {
    const at::Tensor own = angles.slice(2, tokens.begin - begin, tokens.end - begin);
    return rotate(x, {own.cos(), own.sin()}, PairLayout::kSwapped);
  };
  const at::Tensor query = weighted(turn(tile_rows(prepared.query, tile), tile.rows), query_norm_, tile.layer);
  const at::Tensor key =
      weighted(turn(tile_columns(prepared.key, tile, shape_.heads), tile.columns), key_norm_, tile.layer);
  return at::matmul(query, key.transpose(-1, -2)) * scale();
}

at::Tensor Grape::distance_bias(const Prepared& prepared, const Tile& tile) const {
  at::Tensor rate;
  if (!query_direction_.empty()) {
    rate = tile_rows(prepared.gate_query, tile);  // (B, h, R, 1)
  }
  if (!key_direction_.empty()) {
    const at::Tensor key = columns_of_heads(prepared.gate_key, tile, shape_.heads).transpose(-1, -2);  // (B, h, 1, K)
    rate = rate.defined() ? rate + key : key;
  }
  return rate * -tile_distances(prepared.positions, tile).to(rate.options());
}

at::Tensor Grape::path_bias(const Prepared& prepared, const Tile& tile, const at::Tensor& carry,
                            TileScores& scores) const {
  const at::Tensor asking = tile_rows(prepared.gate_query, tile);  // (B, h, R, d)
  const at::Tensor slopes = slopes_.slice(0, tile.heads.begin, tile.heads.end).to(asking.options()).view({-1, 1, 1});
  const at::Tensor even = at::ones({path_width_ / 2}, prepared.positions.ids.options().dtype(at::kDouble));
  // (B, h, R, n) the gates' logarithms of these tokens, 0 behind the query.
  const auto gates = [&](Range tokens) {
    const at::Tensor passed =
        rotate(columns_of_heads(prepared.gate_key, {tile.layer, tile.heads, tile.rows, tokens}, shape_.heads),
               rotation(prepared.positions.ids.slice(0, tokens.begin, tokens.end), even), PairLayout::kSwapped);
    const at::Tensor logs =
        at::log_sigmoid(at::matmul(asking, passed.transpose(-1, -2)) / static_cast<double>(path_width_)) * slopes;
    const auto options = at::TensorOptions().dtype(at::kLong).device(logs.device());
    const at::Tensor later = at::arange(tokens.begin, tokens.end, options) >
                             at::arange(tile.rows.begin, tile.rows.end, options).unsqueeze(1);
    return logs.masked_fill(later, 0).to(at::kDouble);
  };
  at::Tensor before = carry;  // (B, h, R) Σ over the tokens from the tile's end on
  if (!before.defined()) {
    const Range rest{tile.columns.end, std::max(tile.columns.end, tile.rows.end)};
    before = rest.empty() ? at::zeros_like(asking.select(-1, 0), at::kDouble) : gates(rest).sum(-1);
  }
  const at::Tensor own = gates(tile.columns);
  const at::Tensor sums = own.flip(-1).cumsum(-1).flip(-1);  // from each key on, its own included
  scores.carry = before + sums.select(-1, 0);
  return (sums - own + before.unsqueeze(-1)).to(asking.scalar_type());
}

TileScores Grape::score(const Prepared& prepared, const Tile& tile, const Wanted& wanted,
                        const at::Tensor& carry) const {
  if (options_.form == Form::kMultiplicative) {
    return PositionEncoding::score(prepared, tile, wanted, carry);
  }
  TileScores scores;
  if (options_.form == Form::kContextual) {
    scores.logits = clocked(prepared, tile);
    if (wanted.content) {
      scores.content = scaled_dot(weighted(prepared.query, query_norm_, tile.layer),
                                  weighted(prepared.key, key_norm_, tile.layer), tile, scale());
    }
    return scores;
  }
  const at::Tensor content = scaled_dot(prepared.query, prepared.key, tile, scale());
  scores.logits = content + (options_.form == Form::kAdditive ? distance_bias(prepared, tile)
                                                              : path_bias(prepared, tile, carry, scores));
  if (wanted.content) {
    scores.content = content;
  }
  return scores;
}

at::Tensor Grape::vectors(const State& state, std::int64_t layer) const {
  if (options_.form != Form::kMultiplicative) {
    return {};
  }
  return rotation_vectors(rotation(state.positions.ids, frequencies(layer).detach())).unsqueeze(0);
}

Result<PairForm> Grape::pair_form(const Prepared& prepared, std::int64_t layer) const {
  if (options_.form == Form::kContextual) {
    return unsupported("encoding grape: pairs turn by a clock of the text, not by distance");
  }
  if (options_.form != Form::kMultiplicative) {
    return unsupported("encoding grape adds to the logit, and turns no pairs of channels");
  }
  if (options_.norm) {
    return unsupported(
        "encoding grape: q and k are normed behind the rotation: the logit is no sum over turning pairs");
  }
  PairForm form;
  form.channels = pair_channels(shape_.head_width / 2, PairLayout::kSwapped);
  form.planes = form.channels;
  form.rest = channels_from(shape_.head_width, prepared.query.size(-1));
  form.frequencies = frequencies(layer).detach().view({1, -1, 1});
  return form;
}

Entry grape_encoding() {
  return {Grape::about(), Grape::make};
}

}  // namespace locus::position
