// What a token reads and what reads it, as rows of weights on the tokens of a strip, and which of them become arcs.
#include "app/workbench/work/token_arcs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <numeric>
#include <string>

#include "tests/support/fake_model.h"

namespace locus::workbench {
namespace {

views::Column column_of(const std::string& text, double slope = 0.2, std::size_t bytes = 1) {
  test::FakeShape shape;
  shape.slope = slope;
  shape.bytes_per_token = bytes;
  return {"slope " + std::to_string(slope), nullptr, std::make_shared<test::FakeTrace>(shape, text)};
}

views::ViewInput input_of(std::vector<views::Column> columns, std::int64_t head) {
  views::ViewInput input;
  input.columns = std::move(columns);
  input.layer = 1;
  input.head = head;
  return input;
}

double sum_of(const std::vector<double>& weights) {
  return std::accumulate(weights.begin(), weights.end(), 0.0);
}

TEST(TokenArcs, ARowReadsInEveryColumnAndIsReadInTheStripsOwn) {
  for (const std::int64_t head : {std::int64_t{2}, views::kMean}) {
    const views::ViewInput input = input_of({column_of("abcdefgh"), column_of("abcdefgh", 0.8)}, head);
    const auto rows = arc_rows(input, 1, 4, {0, 8}, {});
    ASSERT_TRUE(rows.ok());
    ASSERT_EQ(rows->size(), 3U);
    const ArcRow& by = (*rows)[0];
    EXPECT_FALSE(by.reads);
    EXPECT_EQ(by.column, 1U);
    for (std::size_t column = 0; column < 2; ++column) {
      const ArcRow& row = (*rows)[1 + column];
      EXPECT_TRUE(row.reads);
      EXPECT_EQ(row.column, column);
      ASSERT_EQ(row.weights.size(), 8U);
      const auto& trace = static_cast<const test::FakeTrace&>(*input.columns[column].trace);
      for (std::int64_t key = 0; key < 8; ++key) {
        EXPECT_NEAR(row.weights[static_cast<std::size_t>(key)], trace.weight(1, head, 4, key), 1e-6);
      }
      EXPECT_NEAR(sum_of(row.weights), 1, 1e-6);
    }
    const auto& own = static_cast<const test::FakeTrace&>(*input.columns[1].trace);
    ASSERT_EQ(by.weights.size(), 8U);
    for (std::int64_t query = 0; query < 8; ++query) {
      EXPECT_NEAR(by.weights[static_cast<std::size_t>(query)], query == 4 ? 0 : own.weight(1, head, query, 4), 1e-6);
    }
  }
}

TEST(TokenArcs, MaskedKeysHaveNoArc) {
  const views::ViewInput input = input_of({column_of("abcdefgh")}, 0);
  const auto rows = arc_rows(input, 0, 3, {0, 8}, {});
  ASSERT_TRUE(rows.ok());
  for (const ArcRow& row : *rows) {
    const ChosenArcs chosen = chosen_arcs(row, 100, [](std::int64_t) { return true; });
    EXPECT_FALSE(chosen.arcs.empty());
    for (const Arc& arc : chosen.arcs) {
      EXPECT_TRUE(row.reads ? arc.token <= 3 : arc.token > 3) << arc.token;
    }
  }
}

TEST(TokenArcs, AnotherTokenizersWeightsLieOnTheStripsTokens) {
  const views::ViewInput input = input_of({column_of("abcdefgh"), column_of("abcdefgh", 0.2, 2)}, 1);
  const auto rows = arc_rows(input, 0, 5, {0, 8}, {});
  ASSERT_TRUE(rows.ok());
  ASSERT_EQ(rows->size(), 3U);
  const ArcRow& other = (*rows)[2];
  ASSERT_EQ(other.weights.size(), 8U);
  EXPECT_NEAR(sum_of(other.weights), 1, 1e-6);
  const auto& pairs = static_cast<const test::FakeTrace&>(*input.columns[1].trace);
  for (std::size_t pair = 0; pair < 4; ++pair) {  // half of a pair's weight on each of its letters
    EXPECT_NEAR(other.weights[2 * pair], pairs.weight(1, 1, 2, static_cast<std::int64_t>(pair)) / 2, 1e-6);
    EXPECT_NEAR(other.weights[2 * pair], other.weights[2 * pair + 1], 1e-6);
  }
}

TEST(TokenArcs, OnlyTokensInSightAreAskedAndDrawnAndTheirSumIsSaid) {
  const views::ViewInput input = input_of({column_of(std::string(60, 'a'))}, 0);
  const auto rows = arc_rows(input, 0, 40, {30, 50}, {});
  ASSERT_TRUE(rows.ok());
  ASSERT_EQ(rows->size(), 2U);
  EXPECT_EQ((*rows)[0].first, 30);
  EXPECT_EQ((*rows)[0].weights.size(), 20U);
  const ArcRow& reads = (*rows)[1];
  const auto in_sight = [](std::int64_t token) { return token >= 30 && token < 50; };
  const ChosenArcs few = chosen_arcs(reads, 3, in_sight);
  ASSERT_EQ(few.arcs.size(), 3U);
  double sum = 0;
  for (const Arc& arc : few.arcs) {
    EXPECT_TRUE(in_sight(arc.token));
    EXPECT_EQ(arc.weight, reads.weights[static_cast<std::size_t>(arc.token)]);
    sum += arc.weight;
  }
  EXPECT_NEAR(few.held, sum, 1e-12);
  EXPECT_GE(few.arcs[0].weight, few.arcs[1].weight);
  const ChosenArcs all = chosen_arcs(reads, 100, [](std::int64_t) { return true; });
  for (const Arc& arc : all.arcs) {
    EXPECT_GE(arc.weight, 0.01);
  }
  EXPECT_LE(all.held, 1 + 1e-6);
}

TEST(TokenArcs, TheSentenceHasAClauseForEveryColumn) {
  const ArcRow by{0, false, 0, {}};
  const ArcRow first{0, true, 0, {}};
  const ArcRow second{1, true, 0, {}};
  const ChosenArcs two{{{0, 0.5}, {1, 0.4}}, 0.9};
  const ChosenArcs one{{{0, 0.7}}, 0.7};
  EXPECT_EQ(arcs_text({by, first}, {one, two}), "2 arcs hold 90 %");
  EXPECT_EQ(arcs_text({by, first, second}, {one, two, one}), "2 arcs hold 90 %; 1 arc holds 70 %");
  EXPECT_EQ(arcs_text({first}, {ChosenArcs()}), "no arc of 1 % in sight");
  EXPECT_EQ(arcs_text({by}, {one}), "");
}

TEST(TokenArcs, WhatHasNoMapHasNoArcs) {
  views::ViewInput input = input_of({column_of("abcdefgh")}, 0);
  input.layer = 99;
  const auto rows = arc_rows(input, 0, 3, {0, 8}, {});
  ASSERT_TRUE(rows.ok());
  EXPECT_TRUE(rows->empty());
  input.layer = 0;
  EXPECT_TRUE(arc_rows(input, 0, 8, {0, 8}, {})->empty());
}

}  // namespace
}  // namespace locus::workbench
