#include "core/position/fire.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>

#include "core/position/list.h"
#include "core/position/shared/additive_bias.h"
#include "core/position/shared/fresh_weights.h"

namespace locus::position {

namespace {

constexpr double kSmall = 1e-6;
constexpr std::int64_t kFireRows = 32;

// Contiguous float64 numbers of a parameter.
std::vector<double> numbers(const at::Tensor& tensor) {
  const at::Tensor values = tensor.detach().to(at::kCPU, at::kDouble).contiguous();
  return {values.data_ptr<double>(), values.data_ptr<double>() + values.numel()};
}

}  // namespace

const OptionTable<FireOptions> FireOptions::kTable{
    {"hidden", &FireOptions::hidden, "units of the network", Whole{1, 65536}},
    {"length", &FireOptions::length, "L: queries before |m|·L share one normaliser"},
    {"per_layer", &FireOptions::per_layer, "every layer has its own parameters: layers.N.…"},
};

Status FireOptions::check() const {
  if (length < 1) {
    return wrong_option("length", "at least 1", length);
  }
  return {};
}

const Description& Fire::about() {
  static const Description description{
      .name = "fire",
      .title = "Functional interpolation for relative positions (FIRE)",
      .paper = "Li et al. 2024, arXiv:2310.04418",
      .equation = "q_i·k_j/√D + MLP(ln(|c(i−j)|+1) / (ln(|c·max(i, |mL|)|+1) + 1e-6))",
      .content = "q·k/√D",
      .parameters = {{"c", "()", "how soon the logarithm bends"},
                     {"L_multiplier", "()", "m: moves the threshold L"},
                     {"mlp.0.weight", "(hidden, 1)", "first layer"},
                     {"mlp.0.bias", "(hidden)", "first layer"},
                     {"mlp.2.weight", "(H, hidden)", "second layer, one output a head"},
                     {"mlp.2.bias", "(H)", "second layer"}},
      .options = FireOptions::kTable.described(),
      .scores = true,
      .no_distance = "its network turns a share of the distance that a query can see into any bias",
  };
  return description;
}

Fire::Fire(const ModelShape& shape, const FireOptions& options)
    : WithOptions(shape, options),
      c_("c", shape.layers, options.per_layer, {}, [] { return at::scalar_tensor(0.1); }),
      multiplier_("L_multiplier", shape.layers, options.per_layer, {}, [] { return at::scalar_tensor(1.0); }),
      hidden_weight_("mlp.0.weight", shape.layers, options.per_layer, {options.hidden, 1},
                     [&] {
                       return uniform({options.hidden, 1}, 1);
                     }),
      hidden_bias_("mlp.0.bias", shape.layers, options.per_layer, {options.hidden},
                   [&] { return uniform({options.hidden}, 1); }),
      output_weight_("mlp.2.weight", shape.layers, options.per_layer, {shape.heads, options.hidden},
                     [&] {
                       return uniform({shape.heads, options.hidden}, options.hidden);
                     }),
      output_bias_("mlp.2.bias", shape.layers, options.per_layer, {shape.heads},
                   [&] { return uniform({shape.heads}, options.hidden); }) {}

TileScores Fire::score(const Prepared& prepared, const Tile& tile, const Wanted& wanted,
                       const at::Tensor& /*carry*/) const {
  TileScores scores;
  const at::Tensor content = scaled_dot(prepared.query, prepared.key, tile, scale());
  const bool learning = at::GradMode::is_enabled() && output_bias_.of(tile.layer).requires_grad();
  const at::Tensor distances = diagonal_distances(prepared.positions, tile);
  if (kernels_apply(content) && !learning && distances.defined()) {
    scores.logits = fused(content, distances, prepared.positions, tile, !wanted.content);
  } else {
    scores.logits = differentiable(content, prepared.positions, tile);
  }
  if (wanted.content) {
    scores.content = content;
  }
  return scores;
}

double Fire::macs(std::int64_t /*layer*/, std::int64_t length) const {
  const auto tokens = static_cast<double>(length);
  return tokens * tokens * static_cast<double>(options_.hidden * (1 + shape_.heads));
}

at::Tensor Fire::normalisers(const Positions& positions, const Tile& tile) const {
  const at::Tensor& c = c_.of(tile.layer);
  const at::Tensor threshold = (multiplier_.of(tile.layer) * static_cast<double>(options_.length)).abs();
  const at::Tensor query = positions.ids.slice(0, tile.rows.begin, tile.rows.end).to(threshold.options());
  return at::log((c * at::maximum(query, threshold)).abs() + 1) + kSmall;
}

at::Tensor Fire::differentiable(const at::Tensor& content, const Positions& positions, const Tile& tile) const {
  const at::Tensor& c = c_.of(tile.layer);
  const at::Tensor distance = tile_distances(positions, tile).to(c.options());
  const at::Tensor x = at::log((c * distance).abs() + 1) / normalisers(positions, tile).unsqueeze(1);
  const at::Tensor hidden =
      at::relu(x.unsqueeze(-1) * hidden_weight_.of(tile.layer).select(1, 0) + hidden_bias_.of(tile.layer));
  const at::Tensor weight = output_weight_.of(tile.layer).slice(0, tile.heads.begin, tile.heads.end);
  const at::Tensor bias = output_bias_.of(tile.layer).slice(0, tile.heads.begin, tile.heads.end);
  return content + (at::matmul(hidden, weight.transpose(0, 1)) + bias).permute({2, 0, 1}).to(content.options());
}

at::Tensor Fire::fused(const at::Tensor& content, const at::Tensor& distances, const Positions& positions,
                       const Tile& tile, bool overwrite) const {
  const kernel::PiecewiseLinear f = piecewise(tile.layer);
  const double c = c_.of(tile.layer).item<double>();
  const at::Tensor numerator = at::log1p((distances * c).abs()).to(at::kFloat);
  const at::Tensor factor = normalisers(positions, tile).to(at::kDouble).reciprocal().to(at::kFloat);
  const at::Tensor out = overwrite && content.is_contiguous() ? content : content.clone(at::MemoryFormat::Contiguous);
  const std::int64_t heads = out.size(1);
  const std::int64_t rows = out.size(2);
  const std::int64_t columns = out.size(3);
  float* const logits = out.data_ptr<float>();
  const float* const by_diagonal = numerator.data_ptr<float>();
  const float* const by_row = factor.data_ptr<float>();
  at::parallel_for(0, out.size(0) * rows, kFireRows, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float*> of_heads(static_cast<std::size_t>(heads));
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t row = task % rows;
      for (std::int64_t h = 0; h < heads; ++h) {
        of_heads[static_cast<std::size_t>(h)] = logits + ((task / rows * heads + h) * rows + row) * columns;
      }
      kernel::add_piecewise(f, by_diagonal + (rows - 1 - row), by_row[row], columns, of_heads, tile.heads.begin);
    }
  });
  return out;
}

kernel::PiecewiseLinear Fire::piecewise(std::int64_t layer) const {
  const std::vector<double> w1 = numbers(hidden_weight_.of(layer));
  const std::vector<double> b1 = numbers(hidden_bias_.of(layer));
  const std::vector<double> w2 = numbers(output_weight_.of(layer));
  const std::vector<double> b2 = numbers(output_bias_.of(layer));
  std::vector<double> knots;
  double nothing = 0;  // NaN where a unit is no number: so is every sum that it is in
  for (std::size_t k = 0; k < w1.size(); ++k) {
    nothing += 0 * (w1[k] + b1[k]);
    const double knot = -b1[k] / w1[k];
    if (std::isfinite(knot)) {
      knots.push_back(knot);
    }
  }
  std::sort(knots.begin(), knots.end());
  kernel::PiecewiseLinear f;
  f.heads = shape_.heads;
  f.knots.assign(knots.begin(), knots.end());
  for (std::size_t s = 0; s <= knots.size(); ++s) {
    // Which units are on is read off in the middle of the segment.
    const double inside = knots.empty()       ? 0.0
                          : s == 0            ? knots.front() - 1
                          : s == knots.size() ? knots.back() + 1
                                              : (knots[s - 1] + knots[s]) / 2;
    for (std::size_t h = 0; h < b2.size(); ++h) {
      double slope = 0;
      double intercept = b2[h] + nothing;
      for (std::size_t k = 0; k < w1.size(); ++k) {
        if (w1[k] * inside + b1[k] > 0) {
          slope += w2[h * w1.size() + k] * w1[k];
          intercept += w2[h * w1.size() + k] * b1[k];
        }
      }
      f.slopes.push_back(static_cast<float>(slope));
      f.intercepts.push_back(static_cast<float>(intercept));
    }
  }
  return f;
}

Entry fire_encoding() {
  return {Fire::about(), Fire::make};
}

}  // namespace locus::position
