#include "renderers/figure/pyramid.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace locus::figure {
namespace {

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

std::shared_ptr<const Field> counted(std::int64_t rows, std::int64_t columns) {
  Field field = Field::zeros(rows, columns);
  for (std::size_t n = 0; n < field.values.size(); ++n) {
    field.values[n] = static_cast<float>(n);
  }
  return std::make_shared<const Field>(std::move(field));
}

TEST(Pyramid, OddSizesLoseNoCell) {
  const auto field = counted(5, 7);
  const Pyramid pyramid(field, {0, 0, 5, 7}, Reduction::kMax);
  ASSERT_EQ(pyramid.levels().size(), 2U);
  EXPECT_EQ(pyramid.levels()[0].rows, 2);
  EXPECT_EQ(pyramid.levels()[0].columns, 3);
  EXPECT_EQ(pyramid.levels()[0].values.back(), 34);
  EXPECT_EQ(pyramid.levels().back().values, std::vector<float>{34});
}

TEST(Pyramid, CellsWithoutValueDoNotCount) {
  Field field = Field::zeros(2, 4);
  field.values = {1, kNone, kNone, kNone, 3, kNone, kNone, kNone};
  const auto shared = std::make_shared<const Field>(std::move(field));
  const Pyramid mean(shared, {0, 0, 2, 4}, Reduction::kMean, 1);
  EXPECT_EQ(mean.levels()[0].values[0], 2);
  EXPECT_TRUE(std::isnan(mean.levels()[0].values[1]));
}

TEST(Pyramid, APixelNoLargerThanACellShowsTheCell) {
  const auto field = counted(4, 4);
  const Pyramid pyramid(field, {1, 1, 3, 3}, Reduction::kMax);
  EXPECT_EQ(pyramid.sample(0.9, 0.1, 0.2, 0.2), field->at(1, 1));
  EXPECT_EQ(pyramid.sample(2.5, 1.5, 1, 1), field->at(3, 2));
}

TEST(Pyramid, APixelShowsTheLargestOfWhatItCovers) {
  Field field = Field::zeros(256, 256);
  field.at(131, 57) = 1;  // one bright cell must not vanish at any zoom
  const auto shared = std::make_shared<const Field>(std::move(field));
  const Pyramid pyramid(shared, {0, 0, 256, 256}, Reduction::kMax);
  for (const double cells : {1.3, 2.0, 3.7, 8.0, 25.6}) {
    float found = 0;
    const int pixels = static_cast<int>(256 / cells);
    for (int y = 0; y < pixels; ++y) {
      for (int x = 0; x < pixels; ++x) {
        found = std::max(found, pyramid.sample((y + 0.5) * cells, (x + 0.5) * cells, cells, cells));
      }
    }
    EXPECT_EQ(found, 1) << cells;
  }
}

TEST(Pyramid, MeanOfAWholeMapIsItsMean) {
  const auto field = counted(64, 64);
  const Pyramid pyramid(field, {0, 0, 64, 64}, Reduction::kMean);
  EXPECT_NEAR(pyramid.sample(32, 32, 64, 64), (64 * 64 - 1) / 2.0, 1);
}

TEST(Pyramid, FlatPixelsKeepRowsApart) {
  const auto field = counted(4, 64);
  const Pyramid pyramid(field, {0, 0, 4, 64}, Reduction::kMax);
  EXPECT_EQ(pyramid.sample(1.5, 4, 0.1, 8), field->at(1, 7));  // eight columns of row 1
}

}  // namespace
}  // namespace locus::figure
