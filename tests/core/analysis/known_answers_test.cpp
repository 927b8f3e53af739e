// Every number that stands under a figure, in cases small enough for a reader to compute by hand. Values that random
// numbers draw are counted, so that what is compared is exact.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/analysis/distance_bias.h"
#include "core/analysis/distance_profile.h"
#include "core/analysis/head_distance.h"
#include "core/analysis/head_statistics.h"
#include "core/analysis/rollout.h"
#include "core/analysis/shift_stability.h"
#include "tests/core/analysis/analysis_fields.h"

namespace locus::analysis {
namespace {

// Logits of one head whose value depends on the query, `near` for keys up to half-way and 0 beyond.
attention::StoredScores by_query(const std::vector<float>& near, std::int64_t length = 300) {
  at::Tensor logits = at::zeros({1, length, length});
  for (std::int64_t i = 0; i < length; ++i) {
    logits[0][i]
        .slice(0, std::max<std::int64_t>(i - length / 2, 0))
        .fill_(near[static_cast<std::size_t>(i) % near.size()]);
  }
  return attention::StoredScores({{attention::Quantity::kLogit, logits}});
}

DistanceBiasOptions near_and_far() {
  DistanceBiasOptions options;
  options.near = {0, 51};
  options.far = {200, 211};
  options.pairs = 3000;
  return options;
}

double share_of(const DistanceBias& bias, float value) {
  return static_cast<double>(std::count(bias.differences.begin(), bias.differences.end(), value)) /
         static_cast<double>(bias.differences.size());
}

// The values are 99 and 101, a share p of them 101: μ = 99 + 2p, σ = 2·√(p(1 − p)). Without the mean subtracted σ would
// be about 100.
TEST(KnownAnswers, MuAndSigmaOfTwoValues) {
  const attention::StoredScores text = by_query({99.0F, 101.0F});
  const auto bias = distance_bias({&text}, near_and_far());
  ASSERT_TRUE(bias.ok()) << bias.error().describe();
  const double share = share_of(*bias, 101.0F);
  EXPECT_NEAR(share, 0.5, 0.05);
  EXPECT_NEAR(share + share_of(*bias, 99.0F), 1, 1e-12) << "nothing but the two values";
  EXPECT_NEAR(bias->mean, 99 + 2 * share, 1e-9);
  EXPECT_NEAR(bias->deviation, 2 * std::sqrt(share * (1 - share)), 1e-7);
  EXPECT_EQ(bias->positive_share, 1);
}

// A score that is the same everywhere has no spread at all.
TEST(KnownAnswers, SigmaOfOneValueIsZero) {
  const attention::StoredScores text = by_query({7.0F});
  const auto bias = distance_bias({&text}, near_and_far());
  ASSERT_TRUE(bias.ok()) << bias.error().describe();
  EXPECT_EQ(bias->mean, 7);
  EXPECT_EQ(bias->deviation, 0);
}

// 0.03, 0 and −0.02: the smallest difference above 0 counts, none does not.
TEST(KnownAnswers, PositiveShareCountsWhatIsAboveZeroAlone) {
  const attention::StoredScores text = by_query({0.03F, 0.0F, -0.02F});
  const auto bias = distance_bias({&text}, near_and_far());
  ASSERT_TRUE(bias.ok()) << bias.error().describe();
  const double above = share_of(*bias, 0.03F);
  EXPECT_NEAR(above, 1.0 / 3, 0.05);
  EXPECT_NEAR(share_of(*bias, 0.0F), 1.0 / 3, 0.05);
  EXPECT_EQ(bias->positive_share, above);
}

// Two texts of constant differences 1 and 3: of two draws a quarter have mean 1, half 2, a quarter 3, so that 95 %
// reach from 1 to 3. Texts that are alike leave no room.
TEST(KnownAnswers, IntervalOfTwoTexts) {
  const attention::StoredScores one = by_query({1.0F});
  const attention::StoredScores three = by_query({3.0F});
  const auto bias = distance_bias({&one, &three}, near_and_far());
  ASSERT_TRUE(bias.ok() && bias->interval);
  EXPECT_NEAR(bias->mean, 2, 1e-12);
  EXPECT_NEAR(bias->deviation, 1, 1e-12);
  EXPECT_NEAR(bias->interval->first, 1, 1e-12);
  EXPECT_NEAR(bias->interval->second, 3, 1e-12);
  const auto alike = distance_bias({&three, &three, &three}, near_and_far());
  ASSERT_TRUE(alike.ok() && alike->interval);
  EXPECT_EQ(*alike->interval, (std::pair(3.0, 3.0)));
}

// Forty texts of which one differs: 95 % of the draws hold it at most three times (Poisson with mean 1: P(X ≤ 3) =
// 0.981, P(X ≤ 2) = 0.920), so the interval of 40·[x = the one] is 0 … 3, not 0 … 6 as of all draws.
TEST(KnownAnswers, IntervalLeavesOutTheRarestDraws) {
  const attention::StoredScores plain = by_query({0.0F}, 24);
  const attention::StoredScores one = by_query({40.0F}, 24);
  std::vector<const attention::ScoreSource*> texts(40, &plain);
  texts.front() = &one;
  DistanceBiasOptions options = near_and_far();
  options.near = {0, 3};
  options.far = {14, 16};
  options.pairs = 400;
  const auto bias = distance_bias(texts, options);
  ASSERT_TRUE(bias.ok() && bias->interval);
  EXPECT_NEAR(bias->mean, 1, 1e-12);
  EXPECT_NEAR(bias->interval->first, 0, 1e-12);
  EXPECT_NEAR(bias->interval->second, 3, 1e-12);
}

// Counterfactual and same-query pairs have the same two scores to subtract, in this order.
TEST(KnownAnswers, NearMinusFarNotFarMinusNear) {
  const attention::StoredScores text = by_query({5.0F});
  DistanceBiasOptions options = near_and_far();
  for (const Pairing pairing : {Pairing::kIndependent, Pairing::kSameQuery}) {
    options.pairing = pairing;
    EXPECT_EQ(distance_bias({&text}, options)->mean, 5);
  }
}

// Weights, queries 1 and 2:   1/4 3/4       1/2 1/4 1/4
attention::ScoreField three_tokens() {
  const at::Tensor weights = at::tensor({1.0F, 0.0F, 0.0F, 0.25F, 0.75F, 0.0F, 0.5F, 0.25F, 0.25F}).reshape({1, 3, 3});
  // Hidden gates are 9: what no query sees counts nowhere.
  const at::Tensor gates = at::tensor({1.0F, 9.0F, 9.0F, 0.0F, 1.0F, 9.0F, 0.5F, 0.5F, 1.0F}).reshape({1, 3, 3});
  return test::causal_field(weights.clamp_min(1e-30F).log(), {{attention::Quantity::kGate, gates}});
}

TEST(KnownAnswers, HeadStatisticsOfThreeTokens) {
  const auto statistics = head_statistics(three_tokens());
  ASSERT_TRUE(statistics.ok()) << statistics.error().describe();
  const HeadStatistics& head = statistics->front();
  // Query 1: ¼ ln 4 + ¾ ln 4/3 = 0.562335; query 2: ½ ln 2 + ½ ln 4 = 1.039721.
  EXPECT_NEAR(head.entropy, (0.5623351446 + 1.0397207708) / 2, 1e-6);
  // Over ln 2 and ln 3.
  EXPECT_NEAR(head.relative_entropy, (0.8112781245 + 0.9463946304) / 2, 1e-6);
  EXPECT_NEAR(head.mean_distance, (0.25 + (2 * 0.5 + 0.25)) / 2, 1e-6);
  EXPECT_NEAR(head.previous_token, (0.25 + 0.25) / 2, 1e-6);
  EXPECT_NEAR(head.first_token, (0.25 + 0.5) / 2, 1e-6);
  EXPECT_NEAR(head.self, (0.75 + 0.25) / 2, 1e-6);
  // Gates 1, 0, 1, ½, ½, 1: mean 2/3, mean square 3.5/6.
  EXPECT_NEAR(head.gate_selectivity, std::sqrt(3.5 / 6 - 4.0 / 9), 1e-6);
}

// Period 2 in 4 tokens: query 2 repeats token 0, which token 1 followed; query 3 repeats 1, which 2 followed.
TEST(KnownAnswers, InductionScoreOfTwoRepeatedTokens) {
  const at::Tensor weights = at::tensor({1.0F, 0.0F, 0.0F, 0.0F, 0.5F, 0.5F, 0.0F, 0.0F,  //
                                         0.5F, 0.3F, 0.2F, 0.0F, 0.1F, 0.2F, 0.6F, 0.1F})
                                 .reshape({1, 4, 4});
  const auto scores = induction_scores(test::causal_field(weights.clamp_min(1e-30F).log()), 2);
  ASSERT_TRUE(scores.ok()) << scores.error().describe();
  EXPECT_NEAR(scores->front(), (0.3 + 0.6) / 2, 1e-6);
}

// Diagonals of 3 queries: Δ = 0: 1, 2, 4; Δ = 1: 10, 30; Δ = 2: 7.
TEST(KnownAnswers, MeanAndQuantilesByDistance) {
  const at::Tensor logits = at::tensor({1.0F, 0.0F, 0.0F, 10.0F, 2.0F, 0.0F, 7.0F, 30.0F, 4.0F}).reshape({1, 3, 3});
  DistanceProfileOptions options;
  const auto profile = distance_profile(test::causal_field(logits), options);
  ASSERT_TRUE(profile.ok()) << profile.error().describe();
  EXPECT_NEAR(profile->mean[0], 7.0 / 3, 1e-6);
  EXPECT_NEAR(profile->mean[1], 20, 1e-6);
  EXPECT_NEAR(profile->mean[2], 7, 1e-6);
  EXPECT_EQ(profile->cells[0], 3);
  EXPECT_GE(profile->low[1], 10);
  EXPECT_LE(profile->high[1], 30);
  EXPECT_LT(profile->low[1], profile->high[1]);
}

// Uniform rows against rows on the token itself: ½ Σ|A − B| is ½ and ⅔ for queries 1 and 2.
TEST(KnownAnswers, TotalVariationOfUniformAndSelf) {
  const at::Tensor uniform = at::zeros({1, 3, 3});
  const at::Tensor self = at::eye(3).unsqueeze(0) * 100;
  const auto distance = head_distances(test::causal_field(uniform), test::causal_field(self), 0);
  ASSERT_TRUE(distance.ok()) << distance.error().describe();
  EXPECT_NEAR(distance->at(0, 0), (0.5 + 2.0 / 3) / 2, 1e-6);
}

// The same two fields: Σ|A' − A| is 0, 1, 4/3 a row; over the 6 visible cells the same sum.
TEST(KnownAnswers, AttentionChangeOfUniformAndSelf) {
  const at::Tensor uniform = at::zeros({1, 3, 3});
  const at::Tensor self = at::eye(3).unsqueeze(0) * 100;
  const auto change = attention_change(test::causal_field(uniform), test::causal_field(self), 0);
  ASSERT_TRUE(change.ok()) << change.error().describe();
  EXPECT_NEAR(change->row_l1, (0 + 1 + 4.0 / 3) / 3, 1e-6);
  EXPECT_NEAR(change->cell_mean, (0 + 1 + 4.0 / 3) / 6, 1e-6);
}

// States (1, 0), (1, 1) → (1, 0), (2, 0): P over j ≤ i is 1, 1, 2, then 1, 2, 4: 100·(0 + 1 + 2)/4.
TEST(KnownAnswers, DotProductChangeOfTwoTokens) {
  const at::Tensor before = at::tensor({1.0F, 0.0F, 1.0F, 1.0F}).reshape({1, 2, 2});
  const at::Tensor after = at::tensor({1.0F, 0.0F, 2.0F, 0.0F}).reshape({1, 2, 2});
  const auto percent = dot_product_change_percent(before, after, 0);
  ASSERT_TRUE(percent.ok()) << percent.error().describe();
  EXPECT_NEAR(*percent, 75, 1e-5);
}

// One layer whose query 1 takes half of each token: ½(A + I) gives ¼ and ¾.
TEST(KnownAnswers, RolloutOfOneLayer) {
  const attention::ScoreField field = test::causal_field(at::zeros({1, 2, 2}));
  const auto shares = attention_rollout({&field, &field}, 1);
  ASSERT_TRUE(shares.ok()) << shares.error().describe();
  // Twice: (¼, ¾)·½(A + I) = (¼ + ¾·¼, ¾·¾).
  EXPECT_NEAR((*shares)[0], 7.0 / 16, 1e-6);
  EXPECT_NEAR((*shares)[1], 9.0 / 16, 1e-6);
}

}  // namespace
}  // namespace locus::analysis
