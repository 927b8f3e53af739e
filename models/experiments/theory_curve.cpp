// models/api/analyses.h: what theory expects of a head, from the head's own queries and keys.
#include "core/analysis/theory.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "core/base/guarded.h"
#include "core/base/numbers.h"
#include "core/position/rope.h"
#include "core/position/tapa.h"
#include "models/api/local.h"
#include "models/experiments/fields.h"

namespace locus::models {

namespace {

// Queries and keys of sampled pairs i ≥ j, (n, W) each, before any rotation.
struct Pairs {
  at::Tensor query;
  at::Tensor key;
};

Pairs sample_pairs(const position::Prepared& prepared, std::int64_t head, std::int64_t count, std::uint64_t seed) {
  const at::Tensor& query = prepared.content_query.defined() ? prepared.content_query : prepared.query;
  const at::Tensor& key = prepared.content_key.defined() ? prepared.content_key : prepared.key;
  const std::int64_t group = query.size(1) / key.size(1);
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<std::int64_t> draw(0, query.size(2) - 1);
  std::vector<std::int64_t> queries;
  std::vector<std::int64_t> keys;
  for (std::int64_t n = 0; n < count; ++n) {
    const std::int64_t a = draw(random);
    const std::int64_t b = draw(random);
    queries.push_back(std::max(a, b));
    keys.push_back(std::min(a, b));
  }
  return {query.select(0, 0).select(0, head).cpu().index_select(0, at::tensor(queries)).to(at::kDouble),
          key.select(0, 0).select(0, head / group).cpu().index_select(0, at::tensor(keys)).to(at::kDouble)};
}

using Curves = std::vector<TheoryCurve>;

Result<Curves> rope_curves(const position::Rope& rope, std::int64_t head, const Pairs& pairs,
                           const std::vector<double>& distances, TheoryAngle angle) {
  const position::RopeOptions& options = rope.options();
  const position::ModelShape& shape = rope.shape();
  if (options.by_heads() &&
      options.components(shape.kv_heads)[static_cast<std::size_t>(head / (shape.heads / shape.kv_heads))] < 0) {
    return unsupported("theory curve: head " + std::to_string(head) + " does not turn: no section has its key head");
  }
  if (options.norm) {
    return unsupported("theory curve: the theory knows RoPE without a norm behind it");
  }
  if (options.scaling.kind != "none") {
    return unsupported("theory curve: the theory knows RoPE without scaling, found " + options.scaling.kind);
  }
  const std::int64_t head_width = shape.head_width;
  LOCUS_TRY(const std::int64_t width, options.rotated_width(shape));
  const auto convention =
      angle == TheoryAngle::kPaper ? analysis::AngleConvention::kPaper : analysis::AngleConvention::kLlama;
  const at::Tensor query = pairs.query.slice(1, 0, width);
  const at::Tensor key = pairs.key.slice(1, 0, width);
  LOCUS_TRY(const analysis::RopeMoments one, analysis::rope_moments(query, key, options.layout));
  LOCUS_TRY(const std::vector<analysis::RopeMoments> own, analysis::rope_pair_moments(query, key, options.layout));
  // Channels that do not turn add a constant; the scores are divided by √D, not by the root of the turning width.
  const auto whole = static_cast<double>(head_width);
  const double narrower = std::sqrt(static_cast<double>(width) / whole);
  const double still =
      width < head_width
          ? (pairs.query.slice(1, width) * pairs.key.slice(1, width)).sum(1).mean().item<double>() / std::sqrt(whole)
          : 0;
  const double reach = narrower * analysis::rope_reach(one, width);
  Curves curves{{"one μ₀, ν₀ (" + label(convention) + ")",
                 analysis::rope_mean_scores(distances, one, width, options.base, convention),
                 {},
                 "Theorem 2.1: with one μ₀, ν₀, means come near every value within ±" + general_text(reach, 2)},
                {"μ_d, ν_d a pair (" + label(convention) + ")",
                 analysis::rope_mean_scores(distances, own, width, options.base, convention),
                 {},
                 {}}};
  for (TheoryCurve& curve : curves) {
    for (double& mean : curve.mean) {
      mean = mean * narrower + still;
    }
  }
  return curves;
}

Result<Curves> tapa_curves(const position::Tapa& tapa, const Pairs& pairs, const std::vector<double>& distances) {
  LOCUS_TRY(const position::TapaOptions options, position::TapaOptions::from(tapa.settings()));
  if (options.phase != position::TapaOptions::Phase::kQuadratic) {
    return unsupported("theory curve: the closed form is of TAPA's quadratic phase");
  }
  const std::int64_t head_width = tapa.shape().head_width;
  const auto amplitude_width = static_cast<std::int64_t>(std::llround(options.theta * static_cast<double>(head_width)));
  const at::Tensor amplitude =
      (pairs.query.slice(1, 0, amplitude_width) * pairs.key.slice(1, 0, amplitude_width)).sum(1) /
      std::sqrt(static_cast<double>(amplitude_width));
  const auto root_mean_square = [&](const at::Tensor& x) {
    return x.slice(1, amplitude_width).square().mean().sqrt().item<double>();
  };
  const double mean = amplitude.mean().item<double>();
  const double squared = amplitude.square().mean().item<double>();
  const double deviations = root_mean_square(pairs.query) * root_mean_square(pairs.key);
  const std::int64_t phase_width = head_width - amplitude_width;
  TheoryCurve curve{"theory of TAPA",
                    analysis::tapa_mean_scores(distances, options.alpha, phase_width, mean, deviations),
                    {},
                    "Theorem 3.3: far out a deviation of " + general_text(std::sqrt(squared / 2), 2)};
  for (const double distance : distances) {
    curve.deviation.push_back(std::sqrt(
        std::max(analysis::tapa_variance(distance, options.alpha, phase_width, mean, squared, deviations), 0.0)));
  }
  return Curves{std::move(curve)};
}

}  // namespace

Result<Curves> local::theory_curves(const Trace& trace, std::int64_t layer, std::int64_t head,
                                    const std::vector<double>& distances, TheoryAngle angle, std::int64_t pairs,
                                    std::uint64_t seed) {
  return guarded([&]() -> Result<Curves> {
    const at::NoGradGuard no_grad;
    LOCUS_TRY(const attention::ScoreField* field, scores_of(trace, layer));
    const auto* const computed = field->source().computed();
    if (computed == nullptr) {
      return unsupported("theory curve: a stored map has no queries and keys");
    }
    if (head < 0 || head >= computed->heads() || pairs < 1) {
      return bad_input("theory curve: expected a head of 0 to " + std::to_string(computed->heads() - 1) +
                       " and at least one pair, found head " + std::to_string(head));
    }
    const Pairs sampled = sample_pairs(computed->prepared(), head, pairs, seed);
    if (const auto* const rope = dynamic_cast<const position::Rope*>(&computed->encoding())) {
      return rope_curves(*rope, head, sampled, distances, angle);
    }
    if (const auto* const tapa = dynamic_cast<const position::Tapa*>(&computed->encoding())) {
      return tapa_curves(*tapa, sampled, distances);
    }
    return unsupported("theory curve: there is one for rope and tapa; " + trace.model().name + " has " +
                       trace.model().first_encoding().name);
  });
}

}  // namespace locus::models
