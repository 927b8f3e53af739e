#include "core/position/path.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "core/position/list.h"
#include "core/position/shared/forgetting.h"

namespace locus::position {

namespace {

constexpr std::int64_t kKeys = 64;                        // that a block of queries passes at once
constexpr double kLeastSquare = 1e-6;                     // added to |w|², so that a w of zeros stays one
constexpr std::int64_t kNumbers = std::int64_t{1} << 24;  // of the products P that are held at once
constexpr std::int64_t kMeanTokens = 4096;                // whose directions are held at once
constexpr std::int64_t kMaxTaps = 64;
constexpr double kFirstDeviation = 0.02;  // of matrices and of the convolution, as in the published code
constexpr std::int64_t kMaxRank = std::int64_t{1} << 20;

// (n, R) whether a token t of `tokens` lies behind the query of a row: those do not turn its keys.
at::Tensor behind(Range tokens, Range rows, c10::Device device) {
  const auto options = at::TensorOptions().dtype(at::kLong).device(device);
  return at::arange(tokens.begin, tokens.end, options).unsqueeze(1) > at::arange(rows.begin, rows.end, options);
}

// (B, h, n) strengths of these heads and tokens, with those of `given` (B, H, T) where it is no NaN.
at::Tensor with_given(const at::Tensor& strength, const at::Tensor& given, Range heads, Range tokens) {
  if (!given.defined()) {
    return strength;
  }
  const at::Tensor own = given.slice(1, heads.begin, heads.end).slice(2, tokens.begin, tokens.end);
  return at::where(own.isnan(), strength, own.to(strength.scalar_type()));
}

// (…, D) of length 1, but for the term that keeps zeros zeros.
at::Tensor unit_length(const at::Tensor& vectors) {
  return vectors / (vectors.square().sum(-1, true) + kLeastSquare).sqrt();
}

// (B, h, n, D) directions of these heads and tokens, with the given one where Prepared::directed says so.
at::Tensor with_direction(const at::Tensor& directions, const Prepared& prepared, Range heads, Range tokens) {
  if (!prepared.given_direction.defined()) {
    return directions;
  }
  const at::Tensor given = prepared.given_direction.slice(1, heads.begin, heads.end).unsqueeze(2);  // (B, h, 1, D)
  const at::Tensor directed = prepared.directed.slice(0, heads.begin, heads.end).slice(1, tokens.begin, tokens.end);
  return at::where(directed.unsqueeze(-1), given.to(directions.scalar_type()), directions);
}

}  // namespace

const OptionTable<PathOptions> PathOptions::kTable{
    {"rank", &PathOptions::rank, "r of w = W₂W₁x; 0: one matrix", Whole{0, kMaxRank}},
    {"taps", &PathOptions::taps, "tokens of the convolution of W₂W₁x, behind which is a SiLU; 0: neither",
     Whole{0, kMaxTaps}},
    {"gates", &PathOptions::gates, "PaTH-FoX: every token forgets too, by a gate per head"},
    {"bias", &PathOptions::bias, "what the bias of the gates starts at; used by training alone"},
};

Status PathOptions::check() const {
  return std::isfinite(bias) ? Status() : Status(wrong_option("bias", "a finite number", bias));
}

const Description& Path::about() {
  static const Description description{
      .name = "path",
      .title = "Accumulated Householder transformations (PaTH)",
      .paper = "Yang et al. 2025, arXiv:2505.16381",
      .equation = "k_jᵀ H_{j+1} … H_i q_i/√D, H_t = I − β_t w_t w_tᵀ",
      .content = "q·k/√D, all β 0",
      .parameters = {{"layers.N.direction_down", "(r, C)", "W₁; not with rank=0"},
                     {"layers.N.direction", "(Hkv·D, r)", "W₂; with rank=0 (Hkv·D, C)"},
                     {"layers.N.convolution", "(Hkv·D, taps)", "the last tap is the token's own; not with taps=0"},
                     {"layers.N.strength", "(Hkv, C)", "u of β = 2σ(u·x + b)"},
                     {"layers.N.strength_bias", "(Hkv)", "b"},
                     {"layers.N.gate", "(H, C)", "of a gate f = σ(w·x + b) per head; gates alone"},
                     {"layers.N.gate_bias", "(H)", "likewise"}},
      .options = PathOptions::kTable.described(),
      .scores = true,
      .transforms = true,
      .no_distance = "the tokens between change the key, one after the other",
  };
  return description;
}

const Description& Path::description() const {
  static const Description forgetting = [] {
    Description description = about();
    description.forgets = true;
    return description;
  }();
  return options_.gates ? forgetting : about();
}

Status Path::settle(const PathOptions& options, const ModelShape& shape) {
  if (!shape.causal) {
    return bad_input("encoding path: expected a causal model, found one whose tokens see those after them");
  }
  if (shape.head_width > (std::int64_t{1} << 20) / shape.kv_heads) {
    return too_large("encoding path: " + std::to_string(shape.kv_heads) + " key heads of " +
                     std::to_string(shape.head_width) + " channels are too wide");
  }
  return check_table("rank", std::max(shape.kv_heads * shape.head_width, shape.width),
                     std::max({options.rank, shape.width, std::int64_t{1}}));
}

Path::Path(const ModelShape& shape, const PathOptions& options) : WithOptions(shape, options) {
  const std::int64_t channels = shape.kv_heads * shape.head_width;
  const auto matrix = [&](const char* name, std::int64_t rows, std::int64_t columns) {
    const std::vector<std::int64_t> sizes{rows, columns};
    return LayerParameter(name, shape.layers, true, sizes, [=] { return at::randn(sizes) * kFirstDeviation; });
  };
  const auto vector = [&](const char* name, std::int64_t rows, double value) {
    return LayerParameter(name, shape.layers, true, {rows}, [=] { return at::full({rows}, value); });
  };
  if (options.rank > 0) {
    down_ = matrix("direction_down", options.rank, shape.width);
  }
  up_ = matrix("direction", channels, options.rank > 0 ? options.rank : shape.width);
  if (options.taps > 0) {
    convolution_ = matrix("convolution", channels, options.taps);
  }
  beta_ = matrix("strength", shape.kv_heads, shape.width);
  beta_bias_ = vector("strength_bias", shape.kv_heads, 0);
  if (options.gates) {
    gate_ = matrix("gate", shape.heads, shape.width);
    gate_bias_ = vector("gate_bias", shape.heads, options.bias);
  }
}

std::vector<Parameter> Path::parameters() {
  return parameters_of({&down_, &up_, &convolution_, &beta_, &beta_bias_, &gate_, &gate_bias_});
}

double Path::macs(std::int64_t /*layer*/, std::int64_t length) const {
  const auto tokens = static_cast<double>(length);
  const auto width = static_cast<double>(shape_.width);
  const auto key_heads = static_cast<double>(shape_.kv_heads);
  const auto heads = static_cast<double>(shape_.heads);
  const double channels = key_heads * static_cast<double>(shape_.head_width);
  const auto rank = static_cast<double>(options_.rank);
  const double direction = options_.rank > 0 ? rank * (width + channels) : width * channels;
  const double token = direction + channels * static_cast<double>(options_.taps) + key_heads * width +
                       (options_.gates ? heads * width : 0);
  // WXᵀ and UᵀW of D each, and of 64 the system (half) and Uᵀ tril(WKᵀ); WWᵀ and WKᵀ of each 64 keys.
  const double cell = 2 * static_cast<double>(shape_.head_width) + 1.5 * static_cast<double>(kKeys);
  const double keys = 2 * static_cast<double>(kKeys * shape_.head_width);
  return tokens * token + heads * tokens * (tokens * cell + keys);
}

Prepared Path::prepare(const State& state, std::int64_t layer, const Projections& projections) const {
  Prepared prepared = PositionEncoding::prepare(state, layer, projections);
  const at::Tensor& hidden = projections.hidden;  // (B, T, C)
  const at::Tensor raw = at::linear(down_.empty() ? hidden : at::linear(hidden, down_.of(layer)), up_.of(layer));
  const at::Tensor heads = raw.unflatten(-1, {shape_.kv_heads, shape_.head_width}).transpose(1, 2);
  const at::Tensor strength = at::linear(hidden, beta_.of(layer), beta_bias_.of(layer)).transpose(1, 2);
  prepared.gate_key = at::cat({heads, strength.unsqueeze(-1)}, -1);
  if (options_.gates) {
    const at::Tensor asked = at::linear(hidden, gate_.of(layer), gate_bias_.of(layer));  // (B, T, H)
    prepared.gate_query = at::log_sigmoid(asked).transpose(1, 2).unsqueeze(-1) * scale();
  }
  return prepared;
}

at::Tensor Path::log_gates(const Prepared& prepared) const {
  return options_.gates ? gates_with_given(prepared.gate_query, prepared.given_gates) : at::Tensor();
}

Path::Reflections Path::reflections(const Prepared& prepared, std::int64_t layer, Range heads, Range tokens) const {
  const std::int64_t width = shape_.head_width;
  const std::int64_t before = std::min<std::int64_t>(tokens.begin, std::max<std::int64_t>(options_.taps - 1, 0));
  const Tile tile{layer, heads, {}, {tokens.begin - before, tokens.end}};
  const at::Tensor kept = tile_columns(prepared.gate_key, tile, prepared.query.size(1));  // (B, h, before + n, D + 1)
  at::Tensor direction = kept.slice(-1, 0, width);
  if (options_.taps > 0) {
    const std::int64_t group = prepared.query.size(1) / prepared.gate_key.size(1);
    const at::Tensor all = convolution_.of(layer).view({-1, width, options_.taps});  // (Hkv, D, taps)
    const at::Tensor own = (group == 1 ? all : all.repeat_interleave(group, 0)).slice(0, heads.begin, heads.end);
    // A token whose tap lies before the text has nothing there.
    const at::Tensor padded = at::constant_pad_nd(direction, {0, 0, options_.taps - 1 - before, 0});
    at::Tensor sum;
    for (std::int64_t tap = 0; tap < options_.taps; ++tap) {
      const at::Tensor term = padded.slice(2, tap, tap + tokens.size()) * own.select(-1, tap).unsqueeze(1);
      sum = sum.defined() ? sum + term : term;
    }
    direction = at::silu(sum);
  }
  const at::Tensor strength = at::sigmoid(kept.slice(2, before).select(-1, width)) * 2;
  return {with_direction(unit_length(direction), prepared, heads, tokens),
          with_given(strength, prepared.given_strengths, heads, tokens)};
}

at::Tensor Path::strengths(const Prepared& prepared) const {
  const std::int64_t heads = prepared.query.size(1);
  const at::Tensor own = at::sigmoid(prepared.gate_key.select(-1, shape_.head_width)) * 2;  // (B, Hkv, T)
  const at::Tensor all = own.repeat_interleave(heads / own.size(1), 1);
  return with_given(all, prepared.given_strengths, {0, heads}, {0, own.size(2)});
}

at::Tensor Path::mean_direction(const Prepared& prepared, std::int64_t layer, Range heads) const {
  Prepared own = prepared;
  own.given_direction.reset();
  const std::int64_t tokens = own.gate_key.size(2);
  at::Tensor sum =
      at::zeros({own.query.size(0), heads.size(), shape_.head_width}, own.query.options().dtype(at::kDouble));
  for (std::int64_t begin = 0; begin < tokens; begin += kMeanTokens) {
    const Range part{begin, std::min(begin + kMeanTokens, tokens)};
    sum = sum + reflections(own, layer, heads, part).direction.sum(2, false, at::kDouble);
  }
  return unit_length(sum / static_cast<double>(tokens));
}

TileScores Path::score(const Prepared& prepared, const Tile& tile, const Wanted& wanted,
                       const at::Tensor& carry) const {
  TileScores scores;
  if (wanted.content) {
    scores.content = scaled_dot(prepared.query, prepared.key, tile, scale());
  }
  at::Tensor queries = carry.defined() ? carry : tile_rows(prepared.query, tile);  // (B, h, R, D)
  std::vector<at::Tensor> parts;                                                   // from the right to the left
  // The queries pass these tokens; where they are keys of the tile, they meet them.
  const auto pass = [&](Range tokens, bool meets) {
    const Reflections own = reflections(prepared, tile.layer, tile.heads, tokens);
    const at::Tensor strength = own.strength.unsqueeze(-1);
    const at::Tensor& direction = own.direction;
    const at::Tensor turned = direction.transpose(-1, -2);
    at::Tensor along = at::matmul(direction, queries.transpose(-1, -2)) * strength;  // (B, h, n, R)
    if (tokens.end - 1 > tile.rows.begin) {
      along = along.masked_fill(behind(tokens, tile.rows, along.device()), 0);
    }
    const at::Tensor system = (at::matmul(direction, turned) * strength).triu(1);
    const at::Tensor taken = at::linalg_solve_triangular(system, along, true, true, true);
    if (meets) {
      const at::Tensor keys = tile_columns(prepared.key, {tile.layer, tile.heads, {}, tokens}, prepared.query.size(1));
      const at::Tensor met = at::matmul(direction, keys.transpose(-1, -2)).tril(-1);  // (B, h, n, n)
      parts.push_back(at::matmul(queries, keys.transpose(-1, -2)) - at::matmul(taken.transpose(-1, -2), met));
    }
    queries = queries - at::matmul(taken.transpose(-1, -2), direction);
  };
  if (!carry.defined()) {
    for (std::int64_t end = tile.rows.end; end > tile.columns.end; end -= kKeys) {
      pass({std::max(tile.columns.end, end - kKeys), end}, false);
    }
  }
  for (std::int64_t end = tile.columns.end; end > tile.columns.begin; end -= kKeys) {
    pass({std::max(tile.columns.begin, end - kKeys), end}, true);
  }
  std::reverse(parts.begin(), parts.end());
  scores.logits = at::cat(parts, -1) * scale();
  scores.carry = std::move(queries);
  if (options_.gates) {
    scores.logits = scores.logits + forgotten(log_gates(prepared), tile, scores.logits);
  }
  return scores;
}

at::Tensor Path::deviation(const Prepared& prepared, const Tile& tile) const {
  const at::NoGradGuard no_grad;
  const std::int64_t width = shape_.head_width;
  const std::int64_t rows = tile.rows.size();
  const std::int64_t batch = prepared.query.size(0);
  const std::int64_t heads = tile.heads.size();
  const std::int64_t at_once = std::max<std::int64_t>(1, kNumbers / (batch * heads * width * width));
  if (rows > at_once) {
    std::vector<at::Tensor> parts;
    for (std::int64_t begin = tile.rows.begin; begin < tile.rows.end; begin += at_once) {
      Tile part = tile;
      part.rows = {begin, std::min(begin + at_once, tile.rows.end)};
      parts.push_back(deviation(prepared, part));
    }
    return at::cat(parts, 2);
  }
  const at::Tensor identity = at::eye(width, prepared.query.options());
  // P_ij of every row, (B, h, R, D, D): from I at its own token leftwards.
  at::Tensor product = identity.expand({batch, heads, rows, width, width}).clone();
  at::Tensor out = at::zeros({batch, heads, rows, tile.columns.size()}, prepared.query.options());
  for (std::int64_t j = std::max(tile.rows.end, tile.columns.end) - 1; j >= tile.columns.begin; --j) {
    if (tile.columns.contains(j)) {
      out.select(-1, j - tile.columns.begin).copy_((product - identity).square().sum({-1, -2}).sqrt());
    }
    const std::int64_t first = std::max(j - tile.rows.begin, std::int64_t{0});  // rows whose query is j or later
    if (first >= rows) {
      continue;
    }
    const Reflections own = reflections(prepared, tile.layer, tile.heads, {j, j + 1});
    const at::Tensor direction = own.direction.squeeze(2).unsqueeze(2);  // (B, h, 1, D)
    at::Tensor later = product.slice(2, first);
    const at::Tensor along = at::matmul(direction.unsqueeze(-2), later);  // (B, h, R, 1, D) wᵀP
    later.sub_(direction.unsqueeze(-1) * along * own.strength.view({batch, heads, 1, 1, 1}));
  }
  return out;
}

at::Tensor Path::carried(const Prepared& prepared, const Tile& tile) const {
  const at::NoGradGuard no_grad;
  const at::Tensor keys = tile_columns(prepared.key, tile, prepared.query.size(1));  // (B, h, K, D)
  const at::Tensor lengths = keys.square().sum(-1).sqrt();
  at::Tensor moved = keys.clone();
  at::Tensor out = at::zeros({keys.size(0), keys.size(1), tile.rows.size(), keys.size(2)}, keys.options());
  for (std::int64_t t = std::min(tile.columns.begin, tile.rows.begin); t < tile.rows.end; ++t) {
    const std::int64_t before =
        std::clamp<std::int64_t>(t - tile.columns.begin, 0, keys.size(2));  // keys that t changes
    if (before > 0) {
      const Reflections own = reflections(prepared, tile.layer, tile.heads, {t, t + 1});  // (B, h, 1, D)
      at::Tensor earlier = moved.slice(2, 0, before);
      const at::Tensor along = at::matmul(earlier, own.direction.transpose(-1, -2));  // (B, h, before, 1)
      earlier.sub_(along * own.direction * own.strength.unsqueeze(-1));
    }
    if (tile.rows.contains(t)) {
      const at::Tensor both = lengths * moved.square().sum(-1).sqrt();
      out.select(2, t - tile.rows.begin).copy_(at::where(both > 0, (moved * keys).sum(-1) / both, 0.0));
    }
  }
  return out;
}

TransformSteps Path::steps(const Prepared& prepared, std::int64_t layer, std::int64_t head, std::int64_t query,
                           std::int64_t key, const StopToken& stop) const {
  const at::NoGradGuard no_grad;
  const auto width = static_cast<std::size_t>(shape_.head_width);
  const auto count = static_cast<std::size_t>(query - key);
  const auto numbers = [](const at::Tensor& tensor) {
    const at::Tensor host = tensor.to(at::kCPU, at::kDouble).contiguous();
    return std::vector<double>(host.data_ptr<double>(), host.data_ptr<double>() + host.numel());
  };
  const Tile cell{layer, {head, head + 1}, {query, query + 1}, {key, key + 1}};
  const std::vector<double> asked = numbers(tile_rows(prepared.query, cell)[0]);
  const std::vector<double> own = numbers(tile_columns(prepared.key, cell, prepared.query.size(1))[0]);
  std::vector<double> strength;
  std::vector<double> directions;  // (count, D)
  if (count > 0) {
    const Reflections between = reflections(prepared, layer, cell.heads, {key + 1, query + 1});
    strength = numbers(between.strength[0]);
    directions = numbers(between.direction[0]);
  }
  const auto dot = [&](const double* a, const double* b) { return std::inner_product(a, a + width, b, 0.0); };
  // Turns `vector` by the token `n` behind the key; what it had along the token's direction.
  const auto turn = [&](std::size_t n, std::vector<double>& vector) {
    const double* const w = directions.data() + n * width;
    const double along = dot(vector.data(), w);
    for (std::size_t c = 0; c < width; ++c) {
      vector[c] -= strength[n] * along * w[c];
    }
    return along;
  };
  std::vector<double> of_query(count);  // along w_t, behind all tokens after t
  std::vector<double> vector = asked;
  for (std::size_t n = count; n-- > 0;) {
    of_query[n] = turn(n, vector);
  }
  TransformSteps steps;
  steps.content = scale() * dot(own.data(), asked.data());
  steps.logit = scale() * dot(own.data(), vector.data());
  steps.strength = {std::numeric_limits<double>::quiet_NaN()};
  steps.change = {0};
  steps.carried = {1};
  steps.deviation = {0};
  steps.determinant = {1};
  std::vector<double> product(width * width);  // P_tj
  for (std::size_t c = 0; c < width; ++c) {
    product[c * width + c] = 1;
  }
  vector = own;
  const double length = std::sqrt(dot(own.data(), own.data()));
  for (std::size_t n = 0; n < count && !stop.stop_requested(); ++n) {
    const double of_key = turn(n, vector);
    const double both = length * std::sqrt(dot(vector.data(), vector.data()));
    double squares = 0;
    for (std::size_t row = 0; row < width; ++row) {
      double* const values = product.data() + row * width;
      const double along = dot(values, directions.data() + n * width);
      for (std::size_t c = 0; c < width; ++c) {
        values[c] -= strength[n] * along * directions[n * width + c];
        squares += std::pow(values[c] - (row == c ? 1 : 0), 2);
      }
    }
    steps.strength.push_back(strength[n]);
    steps.change.push_back(-strength[n] * of_key * of_query[n] * scale());
    steps.carried.push_back(both > 0 ? dot(vector.data(), own.data()) / both : 0);
    steps.deviation.push_back(std::sqrt(squares));
    const double* const w = directions.data() + n * width;
    steps.determinant.push_back(steps.determinant.back() * (1 - strength[n] * dot(w, w)));
  }
  return steps;
}

Entry path_encoding() {
  return {Path::about(), Path::make};
}

}  // namespace locus::position
