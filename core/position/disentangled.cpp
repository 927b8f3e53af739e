#include "core/position/disentangled.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/position/list.h"
#include "core/position/shared/fresh_weights.h"
#include "core/position/shared/layer_parameter.h"

namespace locus::position {

namespace {

constexpr double kInitialDeviation = 0.02;
constexpr std::int64_t kMaxBuckets = std::int64_t{1} << 20;

}  // namespace

const OptionTable<DisentangledOptions> DisentangledOptions::kTable{
    {"buckets", &DisentangledOptions::buckets,
     "S, rows to each side, half of them one distance each; 0: a row a distance"},
    {"max_distance", &DisentangledOptions::max_distance,
     "M, farther keys fall in the last bucket; S where there are no buckets"},
    {"c2p", &DisentangledOptions::c2p, "content of the query meets position"},
    {"p2c", &DisentangledOptions::p2c, "content of the key meets position"},
    {"norm", &DisentangledOptions::norm, "P is normed by a LayerNorm"},
    {"norm_eps", &DisentangledOptions::norm_eps, "of that norm", Above{0}, "1e-7"},
    {"key_bias", &DisentangledOptions::key_bias, "position_key has a bias (not in DeBERTa v1)"},
};

Status DisentangledOptions::check() const {
  if (buckets < 0 || buckets > kMaxBuckets || buckets == 1) {
    return wrong_option("buckets", "0 or 2 to " + std::to_string(kMaxBuckets), buckets);
  }
  // The logarithm between the last exact distance and M − 1 must grow.
  const std::int64_t least = buckets > 0 ? buckets / 2 + 2 : 1;
  if (max_distance < least || max_distance > kMaxBuckets) {
    return wrong_option("max_distance", std::to_string(least) + " to " + std::to_string(kMaxBuckets), max_distance);
  }
  return {};
}

at::Tensor disentangled_rows(const at::Tensor& query_minus_key, const DisentangledOptions& options) {
  const std::int64_t span = options.span();
  at::Tensor bucket = query_minus_key.round();
  if (options.buckets > 0) {
    const std::int64_t exact = options.buckets / 2;
    const auto half = static_cast<double>(exact);
    const at::Tensor distance = bucket.abs();
    const double longest = std::log(static_cast<double>(options.max_distance - 1) / half);
    // M − 1 must give the last bucket, whatever the two logarithms round to.
    constexpr double kSlack = 1e-9;
    const at::Tensor steps = at::log(distance.clamp_min(1) / half) / longest * (half - 1) - kSlack;
    bucket = at::where(distance <= half, bucket, bucket.sign() * (steps.ceil() + half));
  }
  return (bucket.to(at::kLong) + span).clamp(0, 2 * span - 1);
}

const Description& Disentangled::about() {
  static const Description description{
      .name = "disentangled",
      .title = "Disentangled attention (DeBERTa)",
      .paper = "He et al. 2020, arXiv:2006.03654; He et al. 2021 (v3), arXiv:2111.09543",
      .equation = "(q_i·k_j + q_i·Pk[δ(i − j)] + k_j·Pq[δ(i − j)])/√(D·n)",
      .content = "q·k/√(D·n), n = 1 + the number of position parts",
      .parameters = {{"relative_embedding", "(2S, C)", "P, one row a bucket of distances, for all layers"},
                     {"norm.{weight,bias}", "(C)", "of P's LayerNorm"},
                     {"position_key.{weight,bias}", "(H·D, C), (H·D)", "Pk = W·P + b, in each layer"},
                     {"position_query.{weight,bias}", "(H·D, C), (H·D)", "Pq, likewise"}},
      .options = DisentangledOptions::kTable.described(),
      .scores = true,
      .has_parts = true,
      .no_distance = "a row of its table holds many of them, and counts as query and key make it",
  };
  return description;
}

Status Disentangled::settle(DisentangledOptions& options, const ModelShape& shape) {
  LOCUS_CHECK(check_table("buckets", 2 * options.span(), shape.width));
  LOCUS_CHECK(check_table("position_key", shape.heads * shape.head_width, shape.width));
  return {};
}

Disentangled::Disentangled(const ModelShape& shape, const DisentangledOptions& options)
    : WithOptions(shape, options), table_(normal({2 * options.span(), shape.width}, kInitialDeviation)) {
  if (options.norm) {
    norm_weight_ = ones({shape.width});
    norm_bias_ = zeros({shape.width});
  }
  const auto fresh = [&](std::int64_t heads, bool bias) {
    const std::int64_t rows = heads * shape.head_width;
    return Projection{normal({rows, shape.width}, kInitialDeviation), bias ? zeros({rows}) : at::Tensor()};
  };
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    if (options.c2p) {
      key_.push_back(fresh(shape.kv_heads, options.key_bias));
    }
    if (options.p2c) {
      query_.push_back(fresh(shape.heads, true));
    }
  }
}

std::vector<Parameter> Disentangled::parameters() {
  std::vector<Parameter> parameters{{"relative_embedding", &table_}};
  if (options_.norm) {
    parameters.push_back({"norm.weight", &norm_weight_});
    parameters.push_back({"norm.bias", &norm_bias_});
  }
  for (const auto& [name, projections] : {std::pair{"position_key.", &key_}, std::pair{"position_query.", &query_}}) {
    for (std::size_t layer = 0; layer < projections->size(); ++layer) {
      const std::string prefix = "layers." + std::to_string(layer) + "." + name;
      parameters.push_back({prefix + "weight", &(*projections)[layer].weight});
      if (projections == &query_ || options_.key_bias) {
        parameters.push_back({prefix + "bias", &(*projections)[layer].bias});
      }
    }
  }
  return parameters;
}

double Disentangled::scale() const {
  const int parts = 1 + int{options_.c2p} + int{options_.p2c};
  return PositionEncoding::scale() / std::sqrt(static_cast<double>(parts));
}

at::Tensor Disentangled::projected(const Projection& projection, Range heads, std::int64_t group, Range rows) const {
  at::Tensor table = table_.slice(0, rows.begin, rows.end);
  if (options_.norm) {
    table = at::layer_norm(table, {shape_.width}, norm_weight_, norm_bias_, options_.norm_eps);
  }
  const Range own{heads.begin / group, (heads.end + group - 1) / group};
  const std::int64_t first = own.begin * shape_.head_width;
  const std::int64_t last = own.end * shape_.head_width;
  const at::Tensor bias = projection.bias.defined() ? projection.bias.slice(0, first, last) : at::Tensor();
  const at::Tensor projected = at::linear(table, projection.weight.slice(0, first, last), bias)
                                   .view({rows.size(), own.size(), shape_.head_width})
                                   .transpose(0, 1);
  const std::int64_t skipped = heads.begin - own.begin * group;
  return group == 1 ? projected : projected.repeat_interleave(group, 0).slice(0, skipped, skipped + heads.size());
}

TileScores Disentangled::score(const Prepared& prepared, const Tile& tile, const Wanted& wanted,
                               const at::Tensor& /*carry*/) const {
  TileScores scores;
  const at::Tensor content = scaled_dot(prepared.query, prepared.key, tile, scale());
  if (wanted.content) {
    scores.content = content;
  }
  if (wanted.terms) {
    scores.terms.emplace_back("content", content);
  }
  scores.logits = content;
  const at::Tensor row = disentangled_rows(tile_distances(prepared.positions, tile), options_);  // (R, K)
  if (row.numel() == 0) {
    return scores;
  }
  // Only the buckets of this tile are projected and multiplied.
  const Range used{row.min().item<std::int64_t>(), row.max().item<std::int64_t>() + 1};
  const at::Tensor bucket = (row - used.begin).to(content.device());
  const auto layer = static_cast<std::size_t>(tile.layer);
  const auto picked = [&](const at::Tensor& vectors, const std::vector<Projection>& projections, std::int64_t group,
                          const at::Tensor& index) {
    const at::Tensor positions = projected(projections[layer], tile.heads, group, used).to(vectors.scalar_type());
    const at::Tensor products = at::matmul(vectors * scale(), positions.transpose(-1, -2));
    return products.gather(-1, index.expand({products.size(0), products.size(1), -1, -1}));
  };
  const auto add = [&](const char* name, const at::Tensor& part) {
    scores.logits = scores.logits + part;
    if (wanted.terms) {
      scores.terms.emplace_back(name, part);
    }
  };
  if (options_.c2p) {
    add("c2p", picked(tile_rows(prepared.query, tile), key_, shape_.heads / shape_.kv_heads, bucket));
  }
  if (options_.p2c) {
    const at::Tensor keys = tile_columns(prepared.key, tile, prepared.query.size(1));
    add("p2c", picked(keys, query_, 1, bucket.t()).transpose(-1, -2));
  }
  return scores;
}

double Disentangled::macs(std::int64_t /*layer*/, std::int64_t length) const {
  const auto farthest = static_cast<double>(length - 1);
  const at::Tensor ends = disentangled_rows(at::tensor({-farthest, farthest}, at::kDouble), options_);
  const auto rows = static_cast<double>(ends[1].item<std::int64_t>() - ends[0].item<std::int64_t>() + 1);
  const auto width = static_cast<double>(shape_.heads * shape_.head_width);
  const auto key_width = static_cast<double>(shape_.kv_heads * shape_.head_width);
  const double met = static_cast<double>(length) * rows * width;
  const double projected = rows * static_cast<double>(shape_.width);
  return (options_.c2p ? met + projected * key_width : 0) + (options_.p2c ? met + projected * width : 0);
}

Entry disentangled_encoding() {
  return {Disentangled::about(), Disentangled::make};
}

}  // namespace locus::position
