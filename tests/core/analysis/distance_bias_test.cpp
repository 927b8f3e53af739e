#include "core/analysis/distance_bias.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/position/list.h"
#include "tests/core/analysis/analysis_fields.h"

namespace locus::analysis {
namespace {

constexpr std::int64_t kLength = 600;
constexpr std::int64_t kWidth = 32;

DistanceBiasOptions short_ranges(Pairing pairing) {
  DistanceBiasOptions options;
  options.near = {0, 11};
  options.far = {400, 411};
  options.pairs = 3000;
  options.pairing = pairing;
  return options;
}

// Logits that fall by `slope` a token, plus noise per key.
attention::StoredScores falling(double slope, double noise, std::uint64_t seed) {
  at::manual_seed(seed);
  const at::Tensor index = at::arange(kLength, at::kFloat);
  const at::Tensor logits = (index.unsqueeze(0) - index.unsqueeze(1)) * slope + at::randn({kLength}) * noise;
  return attention::StoredScores({{attention::Quantity::kLogit, logits.unsqueeze(0)}});
}

// One head of RoPE over random queries and keys with means mu and nu in every channel; with positions that are vectors
// of three equal numbers where there are sections.
attention::ComputedScores rope_scores(double mu, double nu, const Settings& options = {}) {
  const position::ModelShape shape{1, 1, 1, kWidth, kWidth, 0, true};
  std::shared_ptr<const position::PositionEncoding> rope = *position::make_encoding("rope", options, shape);
  position::Projections projections;
  projections.query = at::randn({1, 1, kLength, kWidth}) + mu;
  projections.key = at::randn({1, 1, kLength, kWidth}) + nu;
  projections.value = projections.key;
  position::Positions positions = position::Positions::sequence(kLength);
  if (options.has("sections")) {
    positions.ids = positions.ids.unsqueeze(1).repeat({1, 3});
  }
  const position::State state = rope->begin(positions, 1);
  return {rope, 0, rope->prepare(state, 0, projections), at::zeros({1, 1, kLength})};
}

TEST(DistanceBias, AFallingScoreIsBiasedByItsSlope) {
  const attention::StoredScores text = falling(0.01, 0.2, 1);
  for (const Pairing pairing : {Pairing::kIndependent, Pairing::kSameQuery}) {
    const auto bias = distance_bias({&text}, short_ranges(pairing));
    ASSERT_TRUE(bias.ok()) << bias.error().describe();
    EXPECT_EQ(bias->differences.size(), 3000U);
    EXPECT_FALSE(bias->shortened);
    EXPECT_NEAR(bias->mean, 4.0, 0.1);  // 0.01 · (405 − 5)
    EXPECT_GT(bias->positive_share, 0.999);
    EXPECT_FALSE(bias->interval.has_value());  // one text
  }
  const attention::StoredScores flat = falling(0, 1, 2);
  const auto none = distance_bias({&flat}, short_ranges(Pairing::kIndependent));
  EXPECT_NEAR(none->mean, 0, 0.2);
  EXPECT_NEAR(none->positive_share, 0.5, 0.1);
}

TEST(DistanceBias, CounterfactualScoresTheSameVectorsAtBothDistances) {
  at::manual_seed(3);
  const attention::ComputedScores text = rope_scores(1, 1);
  DistanceBiasOptions options = short_ranges(Pairing::kCounterfactual);
  options.near = {4, 5};
  options.far = {300, 301};
  options.pairs = 200;
  const auto bias = distance_bias({&text}, options);
  ASSERT_TRUE(bias.ok()) << bias.error().describe();
  // Brute force in float64: RoPE's score of content vectors depends on the distance alone. The mean over pairs of
  // q·R(Δ)k with q and k of mean 1 is the sum over pairs of channels of 2 cos(Δθ), up to the noise of 200 pairs.
  double expected = 0;
  for (int pair = 0; pair < kWidth / 2; ++pair) {
    const double theta = std::pow(10000.0, -2.0 * pair / kWidth);
    expected += 2 * (std::cos(4 * theta) - std::cos(300 * theta)) / std::sqrt(kWidth);
  }
  EXPECT_NEAR(bias->mean, expected, 4 * bias->deviation / std::sqrt(200.0));
  EXPECT_GT(std::abs(expected), 6 * bias->deviation / std::sqrt(200.0));  // so that the line above can fail
  // The same distance twice is no difference, whatever the content.
  options.near = {7, 8};
  options.far = {8, 9};
  const auto close = distance_bias({&text}, options);
  EXPECT_LT(std::abs(close->mean), std::abs(bias->mean) / 3);
}

// A word's position is the same in all components (M-RoPE): pairs that are moved score as under plain RoPE.
TEST(DistanceBias, PositionsThatAreVectorsAreMovedInAllComponents) {
  at::manual_seed(11);
  const attention::ComputedScores plain = rope_scores(0.5, 0.25);
  at::manual_seed(11);
  const attention::ComputedScores vectors =
      rope_scores(0.5, 0.25, Settings{{"sections", std::vector<double>{4, 6, 6}}});
  const auto one = distance_bias({&plain}, short_ranges(Pairing::kCounterfactual));
  const auto other = distance_bias({&vectors}, short_ranges(Pairing::kCounterfactual));
  ASSERT_TRUE(one.ok()) << one.error().describe();
  ASSERT_TRUE(other.ok()) << other.error().describe();
  ASSERT_EQ(one->differences.size(), other->differences.size());
  for (std::size_t n = 0; n < one->differences.size(); ++n) {
    ASSERT_NEAR(one->differences[n], other->differences[n], 1e-4) << n;
  }
}

TEST(DistanceBias, TheIntervalComesFromDrawingTexts) {
  std::vector<attention::StoredScores> texts;
  for (std::uint64_t n = 0; n < 8; ++n) {
    texts.push_back(falling(0.005 + 0.001 * static_cast<double>(n), 0.3, n));
  }
  std::vector<const attention::ScoreSource*> sources;
  for (const auto& text : texts) {
    sources.push_back(&text);
  }
  const auto bias = distance_bias(sources, short_ranges(Pairing::kIndependent));
  ASSERT_TRUE(bias.ok()) << bias.error().describe();
  ASSERT_TRUE(bias->interval.has_value());
  const auto [low, high] = *bias->interval;
  EXPECT_LT(low, bias->mean);
  EXPECT_GT(high, bias->mean);
  // Text means are 400 · (0.005 … 0.012), deviation 0.92: the interval is about 1.96 · 0.92 / √8 to each side.
  EXPECT_NEAR(high - low, 2 * 1.96 * 0.917 / std::sqrt(8.0), 0.35);
  EXPECT_EQ(distance_bias(sources, short_ranges(Pairing::kIndependent))->interval, bias->interval);
}

TEST(DistanceBias, AShortTextUsesTheLargestRangesThatFitAndSaysSo) {
  const attention::StoredScores text = falling(0.01, 0.1, 4);
  DistanceBiasOptions options;  // the paper's: up to 10100
  options.pairs = 500;
  const auto bias = distance_bias({&text}, options);
  ASSERT_TRUE(bias.ok()) << bias.error().describe();
  EXPECT_TRUE(bias->shortened);
  EXPECT_EQ(bias->near, (Range{0, 101}));
  EXPECT_EQ(bias->far, (Range{350, 451}));
  for (const std::int64_t length : {8, 9, 20, 150}) {
    const auto [near, far] = fitting_ranges(options.near, options.far, length);
    EXPECT_FALSE(near.empty());
    EXPECT_FALSE(far.empty());
    EXPECT_LE(near.end, far.begin);
    EXPECT_LT(far.end - 1, length);
  }
}

TEST(DistanceBias, SinksCanBeLeftOut) {
  at::Tensor logits = at::zeros({1, kLength, kLength});
  logits.select(2, 0).fill_(1000);
  const attention::StoredScores text({{attention::Quantity::kLogit, logits}});
  DistanceBiasOptions options = short_ranges(Pairing::kIndependent);
  options.far = {400, 600};
  EXPECT_LT(distance_bias({&text}, options)->mean, -0.5);
  options.far = {400, 500};
  options.skip_keys = 1;
  const auto bias = distance_bias({&text}, options);
  ASSERT_TRUE(bias.ok()) << bias.error().describe();
  EXPECT_EQ(bias->mean, 0);
}

TEST(DistanceBias, RefusesWhatCannotBeSampled) {
  const attention::StoredScores text = falling(0, 1, 5);
  DistanceBiasOptions options = short_ranges(Pairing::kIndependent);
  options.near = {0, 500};
  EXPECT_FALSE(distance_bias({&text}, options).ok());
  EXPECT_FALSE(distance_bias({}, short_ranges(Pairing::kIndependent)).ok());
  options = short_ranges(Pairing::kIndependent);
  options.head = 1;
  EXPECT_FALSE(distance_bias({&text}, options).ok());
  const auto stored = distance_bias({&text}, short_ranges(Pairing::kCounterfactual));
  ASSERT_FALSE(stored.ok());
  EXPECT_EQ(stored.error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace locus::analysis
