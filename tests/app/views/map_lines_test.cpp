// What profiles, the lens and measures read of a map.
#include "app/views/shared/plots/map_lines.h"

#include <gtest/gtest.h>

#include <limits>

namespace locus::views {
namespace {

Field map_of_tokens() {
  Field field = Field::zeros(4, 5);
  for (std::size_t n = 0; n < field.values.size(); ++n) {
    field.values[n] = static_cast<float>(n) / 10;
  }
  field.at(1, 3) = std::numeric_limits<float>::quiet_NaN();
  field.row_axis = {"query", "token", 10, 1};
  field.column_axis = {"key", "token", 20, 1};
  return field;
}

TEST(MapLines, ACellIsFoundByItsAxes) {
  const Field field = map_of_tokens();
  EXPECT_EQ(cell_at(field, 23.5, 11.5), (MapCell{1, 3}));
  EXPECT_FALSE(cell_at(field, 19.9, 11));
  EXPECT_FALSE(cell_at(field, 21, 14));
}

TEST(MapLines, ACellOfAReducedMapIsSeveralTokens) {
  EXPECT_EQ(cell_text({"query", "token", 4, 1}, 3), "query 7");
  EXPECT_EQ(cell_text({"key", "token", 0, 16}, 1), "key 16 to 31");
  EXPECT_EQ(cell_text({"key", "token", 0, 1.75}, 0), "key 0 to 1");
  EXPECT_EQ(cell_text({"", "", 0, 1}, 2), "2");
}

TEST(MapLines, ProfilesAreRowsAndColumnsWithoutEmptyCells) {
  const Field field = map_of_tokens();
  const Profile row = row_profile(field, 1);
  EXPECT_EQ(row.at, (std::vector<double>{20.5, 21.5, 22.5, 24.5}));
  EXPECT_FLOAT_EQ(static_cast<float>(row.values[3]), 0.9F);
  const Profile column = column_profile(field, 3);
  EXPECT_EQ(column.at, (std::vector<double>{10.5, 12.5, 13.5}));
  const figure::Interval range = range_of({row, column});
  EXPECT_EQ(range.low, 0);
  EXPECT_FLOAT_EQ(static_cast<float>(range.high), 1.8F);
  EXPECT_EQ(range_of({}), (figure::Interval{0, 1}));
}

TEST(MapLines, TheBlockOfTheLensStaysInTheMapAndHoldsItsCell) {
  const Field field = Field::zeros(600, 700);
  for (const MapCell& cell : {MapCell{0, 0}, MapCell{599, 699}, MapCell{300, 2}}) {
    const CellBlock block = block_around(field, cell, 15);
    EXPECT_EQ(block.rows, 15);
    EXPECT_EQ(block.columns, 15);
    EXPECT_TRUE(cell.row >= block.row && cell.row < block.row + 15);
    EXPECT_TRUE(cell.column >= block.column && cell.column < block.column + 15);
    EXPECT_GE(block.row, 0);
    EXPECT_LE(block.row + 15, 600);
    EXPECT_LE(block.column + 15, 700);
  }
  EXPECT_EQ(block_around(Field::zeros(3, 40), {1, 20}, 15).rows, 3);
}

// The numbers have the digits that their ratio has.
TEST(MapLines, AMeasureSaysSmallNumbersToThreeDigits) {
  Field field = map_of_tokens();
  field.at(3, 0) = 0.0005714F;
  field.at(1, 4) = -0.001451F;
  const std::string text = measure_text(field, {3, 0}, {1, 4});
  EXPECT_NE(text.find("0.000571 and −0.00145, ratio −2.54"), std::string::npos) << text;
}

TEST(MapLines, AMeasureSaysDistancesAndTheRatio) {
  const Field field = map_of_tokens();
  const std::string text = measure_text(field, {3, 0}, {1, 4});
  EXPECT_NE(text.find("Δ query −2, Δ key 4"), std::string::npos) << text;
  EXPECT_NE(text.find("distance −7 and −13"), std::string::npos) << text;
  EXPECT_NE(text.find("ratio 0.6"), std::string::npos) << text;
  EXPECT_EQ(measure_text(field, {1, 3}, {1, 4}).find("ratio"), std::string::npos);
}

}  // namespace
}  // namespace locus::views
