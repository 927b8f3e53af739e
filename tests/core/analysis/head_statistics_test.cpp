#include "core/analysis/head_statistics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/core/analysis/analysis_fields.h"

namespace locus::analysis {
namespace {

constexpr std::int64_t kLength = 40;

// Head 0 uniform, head 1 the previous token, head 2 the first token.
at::Tensor three_heads() {
  at::Tensor logits = at::zeros({3, kLength, kLength});
  for (std::int64_t i = 1; i < kLength; ++i) {
    logits[1][i][i - 1] = 100;
  }
  logits.select(0, 2).select(1, 0).fill_(100);
  return logits;
}

TEST(HeadStatistics, NameTheHabitOfEachHead) {
  const auto statistics = head_statistics(test::causal_field(three_heads()));
  ASSERT_TRUE(statistics.ok()) << statistics.error().describe();
  ASSERT_EQ(statistics->size(), 3U);
  const HeadStatistics& uniform = (*statistics)[0];
  const HeadStatistics& previous = (*statistics)[1];
  const HeadStatistics& sink = (*statistics)[2];
  EXPECT_NEAR(uniform.relative_entropy, 1, 1e-5);
  double entropy = 0;
  double distance = 0;
  for (int i = 1; i < kLength; ++i) {
    entropy += std::log(i + 1);
    distance += i / 2.0;
  }
  EXPECT_NEAR(uniform.entropy, entropy / (kLength - 1), 1e-5);
  EXPECT_NEAR(uniform.mean_distance, distance / (kLength - 1), 1e-4);
  EXPECT_NEAR(previous.previous_token, 1, 1e-6);
  EXPECT_NEAR(previous.mean_distance, 1, 1e-5);
  EXPECT_NEAR(previous.entropy, 0, 1e-6);
  EXPECT_NEAR(sink.first_token, 1, 1e-6);
  EXPECT_NEAR(sink.previous_token, 1.0 / (kLength - 1), 1e-6);  // query 1's previous token is the first
  EXPECT_TRUE(std::isnan(uniform.gate_selectivity));
}

TEST(HeadStatistics, GateSelectivityIsTheDeviationOverVisibleCells) {
  at::Tensor gates = at::zeros({2, kLength, kLength});
  gates.select(0, 1).slice(1, 0, kLength, 2).fill_(1);  // every other key is counted
  const at::Tensor logits = at::zeros({2, kLength, kLength});
  const auto statistics = head_statistics(test::causal_field(logits, {{attention::Quantity::kGate, gates}}));
  ASSERT_TRUE(statistics.ok()) << statistics.error().describe();
  EXPECT_NEAR((*statistics)[0].gate_selectivity, 0, 1e-9);
  const at::Tensor visible = gates[1].masked_select(at::ones({kLength, kLength}, at::kBool).tril());
  EXPECT_NEAR((*statistics)[1].gate_selectivity, visible.std(false).item<double>(), 1e-5);
}

TEST(HeadStatistics, AnInductionHeadLooksAtWhatFollowedLastTime) {
  constexpr std::int64_t kPeriod = kLength / 2;
  at::Tensor logits = at::zeros({2, kLength, kLength});
  for (std::int64_t i = kPeriod; i < kLength; ++i) {
    logits[1][i][i - kPeriod + 1] = 100;
  }
  const auto scores = induction_scores(test::causal_field(logits), kPeriod);
  ASSERT_TRUE(scores.ok()) << scores.error().describe();
  EXPECT_LT((*scores)[0], 0.05);
  EXPECT_NEAR((*scores)[1], 1, 1e-6);
  EXPECT_FALSE(induction_scores(test::causal_field(logits), kLength).ok());
  EXPECT_FALSE(induction_scores(test::causal_field(logits), 1).ok());
}

}  // namespace
}  // namespace locus::analysis
