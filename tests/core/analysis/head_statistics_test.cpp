#include "core/analysis/head_statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stop_token>

#include "tests/core/analysis/analysis_fields.h"
#include "tests/support/encodings.h"

namespace locus::analysis {
namespace {

constexpr std::int64_t kStatisticsLength = 40;

// Head 0 uniform, head 1 the previous token, head 2 the first token.
at::Tensor three_heads() {
  at::Tensor logits = at::zeros({3, kStatisticsLength, kStatisticsLength});
  for (std::int64_t i = 1; i < kStatisticsLength; ++i) {
    logits[1][i][i - 1] = 100;
  }
  logits.select(0, 2).select(1, 0).fill_(100);
  return logits;
}

// Two heads of random queries and keys.
attention::ScoreField computed_field(const std::string& name, std::int64_t length, attention::Mask mask) {
  const at::NoGradGuard no_grad;
  at::manual_seed(5);
  const position::ModelShape shape = test::shape_of(2, 8);
  std::shared_ptr<const position::PositionEncoding> encoding = test::encoding(name, {}, shape);
  position::Projections projections = test::random_projections(shape, 1, length);
  projections.query = projections.query * 2;
  const position::Prepared prepared =
      encoding->prepare(encoding->begin(position::Positions::sequence(length), 1), 0, projections);
  const attention::Attended attended =
      *attention::attend_streaming({*encoding, prepared, 0, projections.value, {}, mask});
  return {std::make_shared<const attention::ComputedScores>(encoding, 0, prepared, attended.log_sum_exp), mask};
}

// The same field, from its maps.
attention::ScoreField stored_field(const attention::ScoreField& field) {
  std::map<attention::Quantity, at::Tensor> maps;
  for (const attention::Quantity quantity : {attention::Quantity::kWeight, attention::Quantity::kGate}) {
    std::vector<at::Tensor> heads;
    for (std::int64_t head = 0; head < field.source().heads(); ++head) {
      const auto map = field.map({quantity, head, {}, {}});
      if (map.ok()) {
        heads.push_back(at::tensor(map->values).view({map->rows, map->columns}));
      }
    }
    if (!heads.empty()) {
      maps[quantity] = at::stack(heads);
    }
  }
  return {std::make_shared<attention::StoredScores>(std::move(maps)), field.mask()};
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
  for (int i = 1; i < kStatisticsLength; ++i) {
    entropy += std::log(i + 1);
    distance += i / 2.0;
  }
  EXPECT_NEAR(uniform.entropy, entropy / (kStatisticsLength - 1), 1e-5);
  EXPECT_NEAR(uniform.mean_distance, distance / (kStatisticsLength - 1), 1e-4);
  EXPECT_NEAR(previous.previous_token, 1, 1e-6);
  EXPECT_NEAR(previous.mean_distance, 1, 1e-5);
  EXPECT_NEAR(previous.entropy, 0, 1e-6);
  EXPECT_NEAR(sink.first_token, 1, 1e-6);
  EXPECT_NEAR(sink.previous_token, 1.0 / (kStatisticsLength - 1), 1e-6);  // query 1's previous token is the first
  EXPECT_TRUE(std::isnan(uniform.gate_selectivity));
  EXPECT_EQ(sink.sink.key, 0);
  EXPECT_NEAR(sink.sink.weight, 1, 1e-6);
}

// A delimiter as sink; late keys, which the last queries alone read, are none, however much they are read.
TEST(HeadStatistics, ASinkNeedNotBeTheFirstToken) {
  at::Tensor logits = at::zeros({2, kStatisticsLength, kStatisticsLength});
  logits.select(0, 0).select(1, 7).fill_(100);
  logits.select(0, 1).select(1, kStatisticsLength - 3).fill_(100);
  const auto statistics = head_statistics(test::causal_field(logits));
  ASSERT_TRUE(statistics.ok()) << statistics.error().describe();
  EXPECT_EQ((*statistics)[0].sink.key, 7);
  EXPECT_NEAR((*statistics)[0].sink.weight, 1, 1e-6);
  // Uniform over the i + 1 keys before the late one: key 0, which the longest rows see as the others do.
  double uniform = 0;
  for (int i = 1; i < kStatisticsLength - 3; ++i) {
    uniform += 1.0 / (i + 1);
  }
  EXPECT_EQ((*statistics)[1].sink.key, 0);
  EXPECT_NEAR((*statistics)[1].sink.weight, uniform / (kStatisticsLength - 1), 1e-6);
}

TEST(HeadStatistics, GateSelectivityIsTheDeviationOverVisibleCells) {
  at::Tensor gates = at::zeros({2, kStatisticsLength, kStatisticsLength});
  gates.select(0, 1).slice(1, 0, kStatisticsLength, 2).fill_(1);  // every other key is counted
  const at::Tensor logits = at::zeros({2, kStatisticsLength, kStatisticsLength});
  const auto statistics = head_statistics(test::causal_field(logits, {{attention::Quantity::kGate, gates}}));
  ASSERT_TRUE(statistics.ok()) << statistics.error().describe();
  EXPECT_NEAR((*statistics)[0].gate_selectivity, 0, 1e-9);
  const at::Tensor visible = gates[1].masked_select(at::ones({kStatisticsLength, kStatisticsLength}, at::kBool).tril());
  EXPECT_NEAR((*statistics)[1].gate_selectivity, visible.std(false).item<double>(), 1e-5);
}

// The pass over blocks in cache against the same field read from its maps, for every kind of row and mask.
TEST(HeadStatistics, OnePassOverTheRowsFindsWhatTheMapsHold) {
  struct Case {
    const char* name;
    attention::Mask mask;
    std::int64_t length;
  };
  for (const Case& each : {Case{"rope", {true, 0}, 200}, Case{"none", {true, 37}, 130}, Case{"rope", {false, 0}, 70},
                           Case{"cope", {true, 0}, 150}, Case{"cope", {true, 20}, 64}, Case{"rope", {true, 0}, 2}}) {
    SCOPED_TRACE(std::string(each.name) + " " + std::to_string(each.length));
    const attention::ScoreField field = computed_field(each.name, each.length, each.mask);
    const attention::ScoreField stored = stored_field(field);
    const auto statistics = head_statistics(field);
    const auto expected = head_statistics(stored);
    ASSERT_TRUE(statistics.ok()) << statistics.error().describe();
    ASSERT_TRUE(expected.ok()) << expected.error().describe();
    ASSERT_EQ(statistics->size(), expected->size());
    for (std::size_t head = 0; head < expected->size(); ++head) {
      const auto expect_near = [](double found, double wanted) { EXPECT_NEAR(found, wanted, 2e-5 * (1 + wanted)); };
      const HeadStatistics& found = (*statistics)[head];
      const HeadStatistics& wanted = (*expected)[head];
      expect_near(found.entropy, wanted.entropy);
      expect_near(found.relative_entropy, wanted.relative_entropy);
      expect_near(found.mean_distance, wanted.mean_distance);
      expect_near(found.previous_token, wanted.previous_token);
      expect_near(found.first_token, wanted.first_token);
      expect_near(found.self, wanted.self);
      EXPECT_EQ(found.sink.key, wanted.sink.key);
      EXPECT_EQ(found.sink.key < 0, each.length < 17);
      if (wanted.sink.key >= 0) {
        expect_near(found.sink.weight, wanted.sink.weight);
      }
      EXPECT_EQ(std::isnan(found.gate_selectivity), std::isnan(wanted.gate_selectivity));
      if (!std::isnan(wanted.gate_selectivity)) {
        expect_near(found.gate_selectivity, wanted.gate_selectivity);
        EXPECT_GT(wanted.gate_selectivity, 0.05);
      }
    }
  }
}

TEST(HeadStatistics, OnePassStopsWhenAsked) {
  std::stop_source stop;
  stop.request_stop();
  const auto stopped = head_statistics(computed_field("rope", 100, {true, 0}), stop.get_token());
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
}

TEST(HeadStatistics, AnInductionHeadLooksAtWhatFollowedLastTime) {
  constexpr std::int64_t kPeriod = kStatisticsLength / 2;
  at::Tensor logits = at::zeros({2, kStatisticsLength, kStatisticsLength});
  for (std::int64_t i = kPeriod; i < kStatisticsLength; ++i) {
    logits[1][i][i - kPeriod + 1] = 100;
  }
  const auto scores = induction_scores(test::causal_field(logits), kPeriod);
  ASSERT_TRUE(scores.ok()) << scores.error().describe();
  EXPECT_LT((*scores)[0], 0.05);
  EXPECT_NEAR((*scores)[1], 1, 1e-6);
  EXPECT_FALSE(induction_scores(test::causal_field(logits), kStatisticsLength).ok());
  EXPECT_FALSE(induction_scores(test::causal_field(logits), 1).ok());
}

}  // namespace
}  // namespace locus::analysis
