// How alike heads are, by maps and by statistics.
#include "app/workbench/work/head_likeness.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "core/base/numbers.h"
#include "tests/support/fake_model.h"

namespace locus::workbench {
namespace {

// H(½ (p + q)) − ½ H(p) − ½ H(q)
double by_entropies(const std::vector<double>& p, const std::vector<double>& q) {
  const auto entropy = [](const std::vector<double>& row) {
    double sum = 0;
    for (const double each : row) {
      sum -= each > 0 ? each * std::log2(each) : 0;
    }
    return sum;
  };
  std::vector<double> middle;
  for (std::size_t n = 0; n < p.size(); ++n) {
    middle.push_back((p[n] + q[n]) / 2);
  }
  return entropy(middle) - (entropy(p) + entropy(q)) / 2;
}

HeadRun run_of(int id, const std::string& text, double slope = 0.2, std::size_t bytes = 1) {
  test::FakeShape shape;
  shape.name = "fake " + std::to_string(id);
  shape.slope = slope;
  shape.bytes_per_token = bytes;
  HeadRun run;
  run.id = id;
  run.column = {shape.name, std::make_shared<test::FakeModel>(shape), std::make_shared<test::FakeTrace>(shape, text)};
  return run;
}

std::vector<views::Fingerprint> prints(std::size_t count, double step) {
  std::vector<views::Fingerprint> list;
  for (std::size_t n = 0; n < count; ++n) {
    const double at = step * static_cast<double>(n);
    list.push_back({at, 1 - at, kNaN, 1 + at, 0.5, 0.1, kNaN});
  }
  return list;
}

TEST(HeadLikeness, LongTextsAreComparedOnStretchesUpToTheirEnd) {
  const std::vector<Range> all = compared_queries(200);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all.front(), (Range{1, 200}));  // the first query sees one key alone
  EXPECT_EQ(compared_queries(1).front(), (Range{0, 1}));
  const std::vector<Range> some = compared_queries(1000);
  ASSERT_EQ(some.size(), 8U);
  for (std::size_t n = 0; n < some.size(); ++n) {
    EXPECT_EQ(some[n].size(), 32);
    EXPECT_TRUE(n == 0 || some[n - 1].end <= some[n].begin);
  }
  EXPECT_EQ(some.back().end, 1000);
}

TEST(HeadLikeness, TheNearestHeadsAreThoseOfTheSmallestMeanDistance) {
  const std::string text = "a few words that are read";
  const HeadRun own = run_of(1, text);
  const HeadRun same = run_of(2, text);
  const HeadRun steep = run_of(3, text, 0.8);
  const auto alike = heads_like(own, {1, 2}, {own, same, steep}, 3, {}, {});
  ASSERT_TRUE(alike.ok());
  ASSERT_EQ(alike->size(), 3U);
  for (const LikeHeads& run : *alike) {
    EXPECT_TRUE(run.by_maps);
    EXPECT_EQ(run.heads.size(), 3U);
    EXPECT_LE(run.heads[0].distance, run.heads[1].distance);
    EXPECT_LE(run.heads[1].distance, run.heads[2].distance);
  }
  // The head itself is no head like it; of the same model's other run it is, at no distance.
  for (const LikeHead& each : (*alike)[0].heads) {
    EXPECT_NE(each.head, (views::HeadRef{1, 2}));
  }
  EXPECT_EQ((*alike)[1].heads.front().head.head, 2);  // of every layer of this model
  EXPECT_NEAR((*alike)[1].heads.front().distance, 0, 1e-9);
  // Against the sum over every row of both maps.
  const LikeHead& nearest = (*alike)[2].heads.front();
  const auto& a = static_cast<const test::FakeTrace&>(*own.column.trace);
  const auto& b = static_cast<const test::FakeTrace&>(*steep.column.trace);
  double least = 2;
  for (std::int64_t layer = 0; layer < 3; ++layer) {
    for (std::int64_t head = 0; head < 4; ++head) {
      double sum = 0;
      for (std::int64_t i = 1; i < a.length(); ++i) {
        std::vector<double> p;
        std::vector<double> q;
        for (std::int64_t j = 0; j < a.length(); ++j) {
          p.push_back(a.weight(1, 2, i, j));
          q.push_back(b.weight(layer, head, i, j));
        }
        sum += by_entropies(p, q);
      }
      least = std::min(least, sum / static_cast<double>(a.length() - 1));
    }
  }
  EXPECT_NEAR(nearest.distance, least, 1e-4);
}

TEST(HeadLikeness, RunsOfOtherTokensAreComparedByTheStatisticsOfTheirHeads) {
  HeadRun own = run_of(1, "abcdefgh");
  HeadRun pairs = run_of(2, "abcdefgh", 0.2, 2);
  own.prints = prints(12, 0.05);
  pairs.prints = prints(12, 0.05);
  const auto alike = heads_like(own, {0, 3}, {own, pairs}, 2, {}, {});
  ASSERT_TRUE(alike.ok());
  EXPECT_TRUE((*alike)[0].by_maps);
  const LikeHeads& other = (*alike)[1];
  EXPECT_FALSE(other.by_maps);
  ASSERT_EQ(other.heads.size(), 2U);
  double least = 2;
  for (const views::Fingerprint& each : pairs.prints) {
    const views::Fingerprint& head = own.prints[3];
    const double distance = head.distance / 7 - each.distance / 3;
    const double entropy = head.entropy / std::log(8.0) - each.entropy / std::log(4.0);
    const double squares = 2 * std::pow(head.previous - each.previous, 2) + distance * distance + entropy * entropy;
    least = std::min(least, std::sqrt(squares / 5));  // self is alike, induction is not known
  }
  EXPECT_NEAR(other.heads.front().distance, least, 1e-12);
  EXPECT_TRUE(std::isnan(
      statistics_distance(views::Fingerprint{kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, kNaN}, 8, own.prints[0], 8)));
}

TEST(HeadLikeness, ARunThatCannotBeComparedSaysWhyAndLeavesTheOthers) {
  HeadRun own = run_of(1, "abcdefgh");
  own.prints = prints(12, 0.05);
  const HeadRun pairs = run_of(2, "abcdefgh", 0.2, 2);  // its heads cannot be measured
  const auto alike = heads_like(own, {0, 3}, {own, pairs}, 2, {}, {});
  ASSERT_TRUE(alike.ok());
  EXPECT_EQ((*alike)[0].heads.size(), 2U);
  EXPECT_TRUE((*alike)[1].error.has_value());
  std::stop_source stop;
  stop.request_stop();
  const auto stopped = heads_like(own, {0, 3}, {own}, 2, stop.get_token(), {});
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace locus::workbench
