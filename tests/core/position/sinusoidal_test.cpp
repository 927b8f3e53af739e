// The table of Vaswani et al. 2017, §3.5: PE(p, 2i) = sin(p / base^(2i/C)), PE(p, 2i + 1) = cos of the same.
#include <gtest/gtest.h>

#include <cmath>

#include "core/position/list.h"
#include "tests/support/encodings.h"

namespace locus::test {
namespace {

TEST(Sinusoidal, TheTableIsThePapers) {
  constexpr std::int64_t kWidth = 12;
  position::ModelShape shape = shape_of(2, kWidth / 2);
  shape.width = kWidth;
  for (const bool interleaved : {true, false}) {
    const auto encoding = test::encoding(
        "sinusoidal", {{"layout", std::string(interleaved ? "interleaved" : "half")}, {"base", 500.0}}, shape);
    const at::Tensor table = encoding->vectors(encoding->begin(position::Positions::sequence(40, 3), 1), 0)[0];
    ASSERT_EQ(table.sizes(), at::IntArrayRef({40, kWidth}));
    for (const std::int64_t row : {0, 1, 17, 39}) {
      for (std::int64_t i = 0; i < kWidth / 2; ++i) {
        const double angle = static_cast<double>(row + 3) / std::pow(500.0, 2.0 * static_cast<double>(i) / kWidth);
        const std::int64_t sine = interleaved ? 2 * i : i;
        const std::int64_t cosine = interleaved ? 2 * i + 1 : i + kWidth / 2;
        EXPECT_NEAR(table[row][sine].item<double>(), std::sin(angle), 1e-6) << row << ", " << i;
        EXPECT_NEAR(table[row][cosine].item<double>(), std::cos(angle), 1e-6) << row << ", " << i;
      }
    }
  }
}

// M2M-100's table: rates from 1 to 1/base, both included, and zeros in the row of padding, which is before the first.
TEST(Sinusoidal, ClosedSpacingEndsAtTheBase) {
  constexpr std::int64_t kWidth = 12;
  position::ModelShape shape = shape_of(2, kWidth / 2);
  shape.width = kWidth;
  const auto encoding = test::encoding("sinusoidal",
                                       {{"layout", std::string("half")},
                                        {"spacing", std::string("closed")},
                                        {"base", 500.0},
                                        {"first", std::int64_t{2}}},
                                       shape);
  const at::Tensor table = encoding->vectors(encoding->begin(position::Positions::sequence(41, -1), 1), 0)[0];
  EXPECT_EQ(table[0].abs().max().item<double>(), 0);
  constexpr std::int64_t kLast = kWidth / 2 - 1;
  for (const std::int64_t row : {1, 2, 18, 40}) {
    for (std::int64_t i = 0; i < kWidth / 2; ++i) {
      const double rate = std::pow(500.0, -static_cast<double>(i) / static_cast<double>(kLast));
      EXPECT_NEAR(table[row][i].item<double>(), std::sin(static_cast<double>(row + 1) * rate), 1e-6) << row;
      EXPECT_NEAR(table[row][i + kWidth / 2].item<double>(), std::cos(static_cast<double>(row + 1) * rate), 1e-6)
          << row;
    }
  }
}

// A patch has the table's rows of its column and of its row, each of half the width; a class token has none.
TEST(Sinusoidal, AGridHasTheWavesOfColumnsAndRows) {
  constexpr std::int64_t kWidth = 16;
  position::ModelShape shape = shape_of(2, kWidth / 2);
  shape.width = kWidth;
  const position::Positions grid = position::Positions::grid(3, 5, 1);
  for (const bool columns_first : {true, false}) {
    const auto encoding = test::encoding(
        "sinusoidal",
        {{"layout", std::string("half")}, {"grid", std::string(columns_first ? "columns" : "rows")}, {"base", 500.0}},
        shape);
    ASSERT_TRUE(encoding->accepts(grid).ok());
    EXPECT_FALSE(encoding->accepts(position::Positions::sequence(4)).ok());
    const at::Tensor table = encoding->embed(encoding->begin(grid, 1));
    ASSERT_EQ(table.sizes(), at::IntArrayRef({16, kWidth}));
    EXPECT_EQ(table[0].abs().max().item<double>(), 0);
    for (int row = 0; row < 3; ++row) {
      for (int column = 0; column < 5; ++column) {
        const at::Tensor own = table[1 + row * 5 + column];
        for (int i = 0; i < 4; ++i) {
          const double rate = std::pow(500.0, -i / 4.0);
          const double first = (columns_first ? column : row) * rate;
          const double second = (columns_first ? row : column) * rate;
          EXPECT_NEAR(own[i].item<double>(), std::sin(first), 1e-6);
          EXPECT_NEAR(own[4 + i].item<double>(), std::cos(first), 1e-6);
          EXPECT_NEAR(own[8 + i].item<double>(), std::sin(second), 1e-6);
          EXPECT_NEAR(own[12 + i].item<double>(), std::cos(second), 1e-6);
        }
      }
    }
  }
  EXPECT_FALSE(
      position::make_encoding("sinusoidal", {{"grid", std::string("rows")}, {"first", std::int64_t{1}}}, shape).ok());
  shape.width = 14;
  EXPECT_FALSE(position::make_encoding("sinusoidal", {{"grid", std::string("rows")}}, shape).ok());
}

}  // namespace
}  // namespace locus::test
