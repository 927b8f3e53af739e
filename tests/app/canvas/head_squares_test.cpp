// The matrix of heads: squares, colours, the way from head to head.
#include "app/workbench/canvas/instruments/head_squares.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/numbers.h"

namespace locus::workbench {
namespace {

HeadSurvey survey_of(std::int64_t layers, std::int64_t heads) {
  HeadSurvey survey;
  survey.layers = layers;
  survey.heads = heads;
  for (std::int64_t n = 0; n < layers * heads; ++n) {
    const double value = static_cast<double>(n) / 100;
    survey.prints.push_back({value, 0.5, kNaN, 10 * value, 2, 0});
  }
  return survey;
}

TEST(HeadSquares, EveryStatisticHasItsNumber) {
  for (std::size_t n = 0; n < kHeadNumbers.size(); ++n) {
    EXPECT_EQ(head_number(kHeadNumbers[n].name), n);
  }
  EXPECT_EQ(head_number("no such number"), 0U);
}

TEST(HeadSquares, EverySquareIsFoundWhereItIsDrawn) {
  HeadSquares squares = squares_within(12, 16, 200, 300, 14);
  EXPECT_EQ(squares.side, 12);  // of 200 / 16
  squares.origin = {30, 50};
  for (std::int64_t layer = 0; layer < 12; ++layer) {
    for (std::int64_t head = 0; head < 16; ++head) {
      const figure::Rect square = squares.square(layer, head);
      EXPECT_EQ(squares.at({square.x, square.y}), (views::HeadRef{layer, head}));
      EXPECT_EQ(squares.at({square.right() - 0.01, square.bottom() - 0.01}), (views::HeadRef{layer, head}));
    }
  }
  EXPECT_FALSE(squares.at({29, 60}));
  EXPECT_FALSE(squares.at({30 + 16 * 12, 60}));
  EXPECT_EQ(squares.nearest({-100, 1e6}), (views::HeadRef{11, 0}));
}

TEST(HeadSquares, LargeModelsHaveSmallSquaresAndNoneHasNone) {
  EXPECT_EQ(squares_within(32, 32, 200, 300, 14).side, 6);
  EXPECT_EQ(squares_within(2, 2, 200, 300, 14).side, 14);
  EXPECT_EQ(squares_within(1000, 1000, 200, 300, 14).side, 0);
  EXPECT_EQ(squares_within(0, 4, 200, 300, 14).side, 0);
}

TEST(HeadSquares, ArrowsGoFromHeadToHeadAndStayAtTheEdge) {
  const HeadSquares squares = squares_within(3, 4, 100, 100, 10);
  EXPECT_EQ(moved({1, 1}, 1, 0, squares), (views::HeadRef{2, 1}));
  EXPECT_EQ(moved({2, 3}, 1, 1, squares), (views::HeadRef{2, 3}));
  EXPECT_EQ(moved({0, views::kMean}, 0, 1, squares), (views::HeadRef{0, 0}));
}

TEST(HeadSquares, SharesAreColouredFromZeroToOneAndOtherNumbersToTheLargest) {
  const HeadSurvey survey = survey_of(3, 4);
  const auto distance = static_cast<std::size_t>(4);
  ASSERT_STREQ(kHeadNumbers[distance].name, "distance");
  EXPECT_EQ(scale_of_heads(head_values(survey, 0), 0, false).high, 1);
  EXPECT_FLOAT_EQ(scale_of_heads(head_values(survey, distance), distance, false).high, 1.1F);
  EXPECT_EQ(strongest_head(head_values(survey, 0), 4), (views::HeadRef{2, 3}));
  EXPECT_FALSE(strongest_head(head_values(survey, 2), 4));  // induction is not measured
}

TEST(HeadSquares, DifferencesAreAboutZeroAndOfTheSameHeads) {
  const HeadSurvey survey = survey_of(3, 4);
  HeadSurvey other = survey;
  other.prints[5].previous += 0.25;
  const std::vector<float> values = head_differences(survey, other, 0);
  ASSERT_EQ(values.size(), 12U);
  EXPECT_FLOAT_EQ(values[5], -0.25F);
  EXPECT_FLOAT_EQ(values[4], 0);
  const figure::ColorScale scale = scale_of_heads(values, 0, true);
  EXPECT_TRUE(scale.centred);
  EXPECT_FLOAT_EQ(scale.high, 0.25F);
  EXPECT_FLOAT_EQ(figure::normalised(scale, 0), 0.5F);
  EXPECT_TRUE(head_differences(survey, survey_of(4, 3), 0).empty());
}

}  // namespace
}  // namespace locus::workbench
