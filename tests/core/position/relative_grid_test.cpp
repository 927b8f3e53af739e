// BEiT's table of patch offsets against its definition, cell by cell, on the trained grid and on another; Swin's of a
// window on a larger grid.
#include "core/position/relative_grid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "tests/support/encodings.h"
#include "tests/support/golden.h"

namespace locus::test {
namespace {

using position::Positions;

constexpr std::int64_t kRows = 3;
constexpr std::int64_t kColumns = 4;
constexpr std::int64_t kHeads = 2;

std::unique_ptr<position::PositionEncoding> beit() {
  auto made = encoding("relative-grid", {{"grid_rows", kRows}, {"grid_columns", kColumns}}, shape_of(kHeads, 8));
  at::Tensor& table = parameter(*made, "layers.0.relative_position_bias_table");
  table = at::randn(table.sizes());
  return made;
}

// The bias alone, (H, T, T): q and k are 0.
at::Tensor biases(const position::PositionEncoding& encoding, std::int64_t rows, std::int64_t columns) {
  const at::Tensor zeros = at::zeros({1, kHeads, rows * columns + 1, 8});
  return whole_map(encoding, prepare(encoding, Positions::grid(rows, columns, 1), zeros, zeros)).logits[0];
}

// Half-pixel linear interpolation of one axis, clamped at the edges.
struct Taps {
  std::int64_t low, high;
  double part;
};
Taps taps(std::int64_t place, std::int64_t from, std::int64_t to) {
  const double x =
      std::max((static_cast<double>(place) + 0.5) * static_cast<double>(from) / static_cast<double>(to) - 0.5, 0.0);
  const auto low = static_cast<std::int64_t>(x);
  return {low, std::min(low + 1, from - 1), x - static_cast<double>(low)};
}

// The table's value for this offset on a grid of rows × columns patches.
double offset_bias(const at::Tensor& table, std::int64_t head, std::int64_t dy, std::int64_t dx, std::int64_t rows,
                   std::int64_t columns) {
  const Taps y = taps(dy + rows - 1, 2 * kRows - 1, 2 * rows - 1);
  const Taps x = taps(dx + columns - 1, 2 * kColumns - 1, 2 * columns - 1);
  const auto at = [&](std::int64_t row, std::int64_t column) {
    return table[row * (2 * kColumns - 1) + column][head].item<double>();
  };
  return (1 - y.part) * ((1 - x.part) * at(y.low, x.low) + x.part * at(y.low, x.high)) +
         y.part * ((1 - x.part) * at(y.high, x.low) + x.part * at(y.high, x.high));
}

TEST(RelativeGrid, ReadsTheRowOfItsOffset) {
  const auto encoding = beit();
  const at::Tensor table = parameter(*encoding, "layers.0.relative_position_bias_table");
  const std::int64_t offsets = (2 * kRows - 1) * (2 * kColumns - 1);
  for (const auto& [rows, columns] : {std::pair{kRows, kColumns}, std::pair<std::int64_t, std::int64_t>{2, 7}}) {
    const at::Tensor got = biases(*encoding, rows, columns);
    for (std::int64_t head = 0; head < kHeads; ++head) {
      EXPECT_FLOAT_EQ(got[head][0][0].item<float>(), table[offsets + 2][head].item<float>());
      for (std::int64_t i = 0; i < rows * columns; ++i) {
        EXPECT_FLOAT_EQ(got[head][0][i + 1].item<float>(), table[offsets][head].item<float>());
        EXPECT_FLOAT_EQ(got[head][i + 1][0].item<float>(), table[offsets + 1][head].item<float>());
        for (std::int64_t j = 0; j < rows * columns; ++j) {
          const double want =
              offset_bias(table, head, i / columns - j / columns, i % columns - j % columns, rows, columns);
          ASSERT_NEAR(got[head][i + 1][j + 1].item<double>(), want, 1e-5) << i << " " << j;
        }
      }
    }
  }
}

TEST(RelativeGrid, AddsTheTableOfAllLayers) {
  const Settings both{{"grid_rows", kRows}, {"grid_columns", kColumns}, {"shared", true}};
  const auto encoding = test::encoding("relative-grid", both, shape_of(kHeads, 8));
  at::Tensor& own = parameter(*encoding, "layers.0.relative_position_bias_table");
  at::Tensor& shared = parameter(*encoding, "relative_position_bias_table");
  own = at::randn(own.sizes());
  shared = at::randn(own.sizes());
  const auto alone = beit();
  parameter(*alone, "layers.0.relative_position_bias_table") = own + shared;
  EXPECT_CLOSE(biases(*encoding, kRows, kColumns), biases(*alone, kRows, kColumns), 1e-6);
}

// Whatever the grid, an offset within a window reads its own row of the table.
TEST(RelativeGrid, ReadsTheRowOfItsOffsetInAWindow) {
  const auto encoding = test::encoding(
      "relative-grid", {{"grid_rows", kRows}, {"grid_columns", kColumns}, {"windows", true}}, shape_of(kHeads, 8));
  at::Tensor& table = parameter(*encoding, "layers.0.relative_position_bias_table");
  EXPECT_EQ(table.size(0), (2 * kRows - 1) * (2 * kColumns - 1));
  table = at::randn(table.sizes());
  const std::int64_t rows = 2 * kRows;
  const std::int64_t columns = 2 * kColumns;
  ASSERT_TRUE(encoding->accepts(Positions::grid(rows, columns, 0)).ok());
  const at::Tensor zeros = at::zeros({1, kHeads, rows * columns, 8});
  const at::Tensor got =
      whole_map(*encoding, prepare(*encoding, Positions::grid(rows, columns, 0), zeros, zeros)).logits[0];
  std::int64_t within = 0;
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    for (std::int64_t j = 0; j < rows * columns; ++j) {
      const std::int64_t down = i / columns - j / columns;
      const std::int64_t right = i % columns - j % columns;
      if (std::abs(down) < kRows && std::abs(right) < kColumns) {
        ++within;
        const std::int64_t row = (down + kRows - 1) * (2 * kColumns - 1) + right + kColumns - 1;
        for (std::int64_t head = 0; head < kHeads; ++head) {
          ASSERT_FLOAT_EQ(got[head][i][j].item<float>(), table[row][head].item<float>()) << i << " " << j;
        }
      }
    }
  }
  EXPECT_GT(within, rows * columns);
  EXPECT_FALSE(encoding->accepts(Positions::grid(rows, columns, 1)).ok());
}

TEST(RelativeGrid, RefusesAGridWithoutPatches) {
  EXPECT_FALSE(beit()->accepts(Positions::grid(0, 3, 1)).ok());
}

}  // namespace
}  // namespace locus::test
