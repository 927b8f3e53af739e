// transform_steps(): against maps of the same run, and refusals.
#include "models/api/transform_steps.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/family_column.h"

namespace locus {
namespace {

using models::Quantity;

double map_cell(const models::Trace& trace, std::int64_t head, Quantity quantity, std::int64_t query,
                std::int64_t key) {
  const auto map = trace.map({1, head, quantity, {query, query + 1}, {key, key + 1}});
  EXPECT_TRUE(map.ok()) << (map.ok() ? "" : map.error().describe());
  return map.ok() ? static_cast<double>(map->values.front()) : 0;
}

TEST(TransformSteps, AgreesWithTheMapsOfTheRun) {
  const views::Column column = test::family_column("path_attn");
  const models::Trace& trace = *column.trace;
  EXPECT_TRUE(trace.model().transforms());
  for (const std::int64_t head : {0, 3}) {
    const auto steps = models::transform_steps(trace, 1, head, 17, 4);
    ASSERT_TRUE(steps.ok()) << steps.error().describe();
    ASSERT_EQ(steps->change.size(), 14U);
    EXPECT_NEAR(steps->content, map_cell(trace, head, Quantity::kContent, 17, 4),
                1e-5 * (1 + std::abs(steps->content)));
    for (std::int64_t token = 4; token <= 17; ++token) {
      const auto n = static_cast<std::size_t>(token - 4);
      EXPECT_NEAR(steps->deviation[n], map_cell(trace, head, Quantity::kDeviation, token, 4), 1e-4) << token;
      EXPECT_NEAR(steps->carried[n], map_cell(trace, head, Quantity::kCarried, token, 4), 1e-4) << token;
    }
  }
  // Heads of one key head share what stands between tokens.
  EXPECT_EQ(map_cell(trace, 2, Quantity::kDeviation, 9, 3), map_cell(trace, 3, Quantity::kDeviation, 9, 3));
  EXPECT_NE(map_cell(trace, 1, Quantity::kDeviation, 9, 3), map_cell(trace, 2, Quantity::kDeviation, 9, 3));
  const auto future = trace.map({1, 0, Quantity::kCarried, {3, 4}, {5, 6}});
  ASSERT_TRUE(future.ok());
  EXPECT_TRUE(std::isnan(future->values.front()));
}

// Edits of scores leave what stands between the tokens.
TEST(TransformSteps, IsThatOfAnEditedRunToo) {
  const views::Column column = test::family_column("path_attn");
  const auto edited = test::with_edit(column.model, "scale 1.2 by 0.5");
  ASSERT_NE(edited, nullptr);
  const views::Column other = test::column_of(edited, *column.trace->input());
  const auto plain = models::transform_steps(*column.trace, 1, 2, 9, 3);
  const auto scaled = models::transform_steps(*other.trace, 1, 2, 9, 3);
  ASSERT_TRUE(plain.ok() && scaled.ok());
  EXPECT_EQ(plain->logit, scaled->logit);
  EXPECT_EQ(plain->change, scaled->change);
}

TEST(TransformSteps, RefusesWhatItHasNot) {
  const views::Column column = test::family_column("path_attn");
  for (const auto& [layer, head, query, key] :
       {std::tuple(2, 0, 9, 3), std::tuple(-1, 0, 9, 3), std::tuple(1, 4, 9, 3), std::tuple(1, -1, 9, 3),
        std::tuple(1, 0, 20, 3), std::tuple(1, 0, 9, 10), std::tuple(1, 0, 9, -1), std::tuple(1, 0, -1, -1)}) {
    const auto steps = models::transform_steps(*column.trace, layer, head, query, key);
    ASSERT_FALSE(steps.ok()) << layer << " " << head << " " << query << " " << key;
    EXPECT_EQ(steps.error().code, ErrorCode::kBadInput);
  }
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(models::transform_steps(*column.trace, 1, 0, 9, 3, stop.get_token()).error().code, ErrorCode::kCancelled);
  const views::Column rope = test::column_of(test::bundled("text-rope"), "One boat, two boats.");
  EXPECT_FALSE(rope.trace->model().transforms());
  EXPECT_EQ(models::transform_steps(*rope.trace, 1, 0, 9, 3).error().message, "layer 1: encoding rope changes no keys");
  for (const Quantity quantity : {Quantity::kDeviation, Quantity::kCarried}) {
    EXPECT_EQ(rope.trace->map({1, 0, quantity, {}, {}}).error().message, "encoding rope has no " + describe(quantity));
  }
}

}  // namespace
}  // namespace locus
