#include "core/analysis/distance_bias.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <utility>

#include "core/attention/score_field.h"

namespace locus::analysis {

namespace {

using attention::ScoreSource;

// Draws queries and distances of one text, deterministically.
class Sampler {
 public:
  Sampler(const DistanceBiasOptions& options, std::int64_t length, std::uint64_t seed)
      : length_(length), skip_(options.skip_keys), random_(seed) {}

  std::int64_t distance(Range range) { return uniform(range.begin, range.end - 1); }
  // A query that has a key `distance` before it, beyond the skipped ones.
  std::int64_t query(std::int64_t distance) { return uniform(std::min(distance + skip_, length_ - 1), length_ - 1); }

 private:
  std::int64_t uniform(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  std::int64_t length_;
  std::int64_t skip_;
  std::mt19937_64 random_;
};

Result<float> score_at(const ScoreSource& text, std::int64_t head, std::int64_t query, std::int64_t distance) {
  at::Tensor carry;
  const std::int64_t key = query - distance;
  LOCUS_TRY(const at::Tensor score,
            text.scores(attention::Quantity::kLogit, {head, head + 1}, {query, query + 1}, {key, key + 1}, carry));
  return score.item<float>();
}

Status sample_pairs(const ScoreSource& text, const DistanceBiasOptions& options, std::int64_t count, std::uint64_t seed,
                    StopToken stop, std::vector<float>& differences) {
  Sampler sampler(options, text.length(), seed);
  for (std::int64_t pair = 0; pair < count; ++pair) {
    if (stop.stop_requested()) {
      return cancelled();
    }
    const std::int64_t near = sampler.distance(options.near);
    const std::int64_t far = sampler.distance(options.far);
    const std::int64_t far_query = sampler.query(far);
    const std::int64_t near_query = options.pairing == Pairing::kSameQuery ? far_query : sampler.query(near);
    LOCUS_TRY(const float near_score, score_at(text, options.head, near_query, near));
    LOCUS_TRY(const float far_score, score_at(text, options.head, far_query, far));
    differences.push_back(near_score - far_score);
  }
  return {};
}

// Pairs of content vectors, grouped by the distance they are scored at, so that each distance is one batched tile.
class Counterfactual {
 public:
  static Result<Counterfactual> create(const ScoreSource& text, std::int64_t head) {
    const auto* computed = text.computed();
    if (computed == nullptr) {
      return unsupported("counterfactual pairs: a stored map has no queries and keys to score again");
    }
    const position::Description& what = computed->encoding().description();
    if (what.has_gates || what.updates || what.forgets || what.learns_positions) {
      return unsupported("counterfactual pairs: the score of " + what.name +
                         " depends on more than the two tokens and their distance");
    }
    if (computed->encoding().follows_between()) {
      return unsupported("counterfactual pairs: scores of this layer depend on other tokens too, by edits or by " +
                         what.name);
    }
    if (!computed->encoding().is_linear()) {
      return unsupported("counterfactual pairs: " + what.name +
                         " makes a score of more than one head's query and key as they were projected");
    }
    const position::Prepared& prepared = computed->prepared();
    const at::Tensor& query = prepared.content_query.defined() ? prepared.content_query : prepared.query;
    const at::Tensor& key = prepared.content_key.defined() ? prepared.content_key : prepared.key;
    const std::int64_t heads = query.size(1);
    const std::int64_t kv_head = head / (heads / key.size(1));
    return Counterfactual(*computed, head, query.select(0, 0), key.select(0, 0).select(0, kv_head));
  }

  // Scores of (query tokens, key tokens) as if every key stood distances[n] before the last position of the text.
  std::vector<float> scores(const std::vector<std::int64_t>& queries, const std::vector<std::int64_t>& keys,
                            const std::vector<std::int64_t>& distances) const {
    std::vector<float> result;
    result.reserve(distances.size());
    for (std::size_t begin = 0; begin < distances.size(); begin += kPairsAtOnce) {
      const std::size_t end = std::min(begin + kPairsAtOnce, distances.size());
      const auto part = [&](const std::vector<std::int64_t>& all) {
        return at::tensor(at::IntArrayRef(all.data() + begin, end - begin));
      };
      const at::Tensor logits = score_part(part(queries), part(keys), part(distances)).contiguous();
      result.insert(result.end(), logits.data_ptr<float>(), logits.data_ptr<float>() + logits.numel());
    }
    return result;
  }

 private:
  static constexpr std::size_t kPairsAtOnce = 128;

  Counterfactual(const attention::ComputedScores& source, std::int64_t head, at::Tensor query, at::Tensor key)
      : source_(source), head_(head), query_(std::move(query)), key_(std::move(key)) {}

  // n pairs as one sequence: n key tokens where they are made to stand, then n query tokens at the last position. Every
  // pair has a cell on the diagonal of that tile.
  at::Tensor score_part(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& distances) const {
    const position::PositionEncoding& encoding = source_.encoding();
    const position::ModelShape& shape = encoding.shape();
    const std::int64_t count = queries.size(0);
    const at::Tensor q = query_.select(0, head_).index_select(0, queries.to(query_.device()));
    const at::Tensor k = key_.index_select(0, keys.to(key_.device()));
    position::Projections projections;
    // Every head is filled alike, and the asked one is read.
    projections.query = at::cat({at::zeros_like(q), q}).expand({1, shape.heads, -1, -1});
    projections.key = at::cat({k, at::zeros_like(k)}).expand({1, shape.kv_heads, -1, -1});
    projections.value = projections.key;
    // A position that is a vector is moved in all its components, as positions of words differ.
    const at::Tensor last = source_.prepared().positions.ids.slice(0, -1).to(at::kDouble);
    const at::Tensor back = distances.to(at::kDouble);
    position::Positions positions;
    positions.ids = last.dim() == 1 ? at::cat({last - back, last.expand({count})})
                                    : at::cat({last - back.unsqueeze(1), last.expand({count, -1})});
    const position::Prepared prepared = encoding.prepare(encoding.begin(positions, 1), source_.layer(), projections);
    const position::Tile tile{source_.layer(), {head_, head_ + 1}, {count, 2 * count}, {0, count}};
    const at::Tensor logits = attention::soft_capped(encoding.score(prepared, tile).logits, source_.soft_cap());
    return logits.reshape({count, count}).diagonal().to(at::kCPU, at::kFloat);
  }

  const attention::ComputedScores& source_;
  std::int64_t head_;
  at::Tensor query_;  // (H, T, D)
  at::Tensor key_;    // (T, D)
};

Status sample_counterfactual(const ScoreSource& text, const DistanceBiasOptions& options, std::int64_t count,
                             std::uint64_t seed, std::vector<float>& differences) {
  LOCUS_TRY(const Counterfactual pairs, Counterfactual::create(text, options.head));
  Sampler sampler(options, text.length(), seed);
  std::vector<std::int64_t> queries;
  std::vector<std::int64_t> keys;
  std::vector<std::int64_t> near;
  std::vector<std::int64_t> far;
  for (std::int64_t pair = 0; pair < count; ++pair) {
    near.push_back(sampler.distance(options.near));
    far.push_back(sampler.distance(options.far));
    queries.push_back(sampler.query(near.back()));
    keys.push_back(queries.back() - near.back());
  }
  const std::vector<float> near_scores = pairs.scores(queries, keys, near);
  const std::vector<float> far_scores = pairs.scores(queries, keys, far);
  for (std::size_t pair = 0; pair < near.size(); ++pair) {
    differences.push_back(near_scores[pair] - far_scores[pair]);
  }
  return {};
}

void summarise(DistanceBias& bias) {
  double sum = 0;
  double squares = 0;
  double positive = 0;
  for (const float value : bias.differences) {
    const auto x = static_cast<double>(value);
    sum += x;
    squares += x * x;
    positive += value > 0 ? 1 : 0;
  }
  const auto count = static_cast<double>(bias.differences.size());
  bias.mean = sum / count;
  bias.deviation = std::sqrt(std::max(squares / count - bias.mean * bias.mean, 0.0));
  bias.positive_share = positive / count;
}

// Percentiles 2.5 and 97.5 of the pooled mean when whole texts are drawn with replacement.
std::pair<double, double> bootstrap(const std::vector<std::pair<double, std::int64_t>>& texts, std::int64_t resamples,
                                    std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<std::size_t> draw(0, texts.size() - 1);
  std::vector<double> means;
  for (std::int64_t n = 0; n < resamples; ++n) {
    double sum = 0;
    double count = 0;
    for (std::size_t text = 0; text < texts.size(); ++text) {
      const auto& [text_sum, text_count] = texts[draw(random)];
      sum += text_sum;
      count += static_cast<double>(text_count);
    }
    if (!std::isfinite(sum)) {
      return {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()};
    }
    means.push_back(sum / count);
  }
  std::sort(means.begin(), means.end());
  const auto last = static_cast<double>(means.size() - 1);
  return {means[static_cast<std::size_t>(0.025 * last)], means[static_cast<std::size_t>(std::ceil(0.975 * last))]};
}

Result<DistanceBiasOptions> fitted(const std::vector<const ScoreSource*>& texts, DistanceBiasOptions options) {
  if (texts.empty() || options.pairs < 1 || options.resamples < 1 || options.skip_keys < 0) {
    return bad_input("distance bias: expected at least one text, one pair and one resample");
  }
  if (options.near.empty() || options.far.empty() || options.near.begin < 0 || options.near.end > options.far.begin) {
    return bad_input("distance bias: expected distances 0 ≤ λ < Λ in two ranges that do not overlap");
  }
  std::int64_t shortest = texts.front()->length();
  for (const ScoreSource* text : texts) {
    shortest = std::min(shortest, text->length());
    if (options.head < 0 || options.head >= text->heads()) {
      return bad_input("distance bias: expected a head of 0 … " + std::to_string(text->heads() - 1) + ", found " +
                       std::to_string(options.head));
    }
  }
  if (shortest < 8) {
    return bad_input("distance bias: expected texts of at least 8 tokens, found " + std::to_string(shortest));
  }
  std::tie(options.near, options.far) = fitting_ranges(options.near, options.far, shortest);
  if (options.far.end - 1 + options.skip_keys >= shortest) {
    return bad_input("distance bias: no query is left beyond " + std::to_string(options.skip_keys) + " skipped keys");
  }
  return options;
}

}  // namespace

std::pair<Range, Range> fitting_ranges(Range near, Range far, std::int64_t length) {
  const std::int64_t reach = length * 3 / 4;
  if (far.end <= reach + 1) {
    return {near, far};
  }
  far = {reach + 1 - std::clamp<std::int64_t>(far.size(), 1, length / 4), reach + 1};
  near.begin = std::min(near.begin, far.begin - 1);
  near.end = std::clamp(near.end, near.begin + 1, far.begin);
  return {near, far};
}

Result<DistanceBias> distance_bias(const std::vector<const ScoreSource*>& texts, const DistanceBiasOptions& asked,
                                   StopToken stop, const Progress& progress) {
  const at::NoGradGuard no_grad;
  LOCUS_TRY(const DistanceBiasOptions options, fitted(texts, asked));
  DistanceBias bias;
  bias.near = options.near;
  bias.far = options.far;
  bias.shortened = !(options.near == asked.near && options.far == asked.far);
  std::vector<std::pair<double, std::int64_t>> sums;
  const auto count = static_cast<std::int64_t>(texts.size());
  for (std::int64_t text = 0; text < count; ++text) {
    report(progress, static_cast<double>(text) / static_cast<double>(count), "text " + std::to_string(text + 1));
    const std::int64_t share = options.pairs * (text + 1) / count - options.pairs * text / count;
    const std::uint64_t seed = options.seed * 1'000'003 + static_cast<std::uint64_t>(text);
    const ScoreSource& source = *texts[static_cast<std::size_t>(text)];
    const std::size_t before = bias.differences.size();
    if (options.pairing == Pairing::kCounterfactual) {
      LOCUS_CHECK(sample_counterfactual(source, options, share, seed, bias.differences));
    } else {
      LOCUS_CHECK(sample_pairs(source, options, share, seed, stop, bias.differences));
    }
    double sum = 0;
    for (std::size_t n = before; n < bias.differences.size(); ++n) {
      sum += static_cast<double>(bias.differences[n]);
    }
    sums.emplace_back(sum, share);
  }
  summarise(bias);
  if (texts.size() > 1) {
    bias.interval = bootstrap(sums, options.resamples, options.seed);
  }
  return bias;
}

}  // namespace locus::analysis
