#include "core/position/learned.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "core/position/list.h"
#include "tests/support/golden.h"

namespace locus::position {
namespace {

std::unique_ptr<PositionEncoding> learned(const Settings& options) {
  ModelShape shape;
  shape.width = 6;
  auto made = make_encoding("learned", options, shape);
  EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().describe());
  return made.ok() ? *std::move(made) : nullptr;
}

TEST(Learned, givesTheRowOfEachPosition) {
  const auto encoding = learned({{"length", std::int64_t{10}}});
  const at::Tensor table = *encoding->parameters()[0].value;
  const at::Tensor rows = encoding->embed(encoding->begin(Positions::sequence(4, 3), 1));
  EXPECT_TRUE(rows.equal(table.slice(0, 3, 7)));
}

TEST(Learned, refusesPositionsOutsideTheTable) {
  const auto encoding = learned({{"length", std::int64_t{10}}});
  EXPECT_TRUE(encoding->accepts(Positions::sequence(10)).ok());
  EXPECT_FALSE(encoding->accepts(Positions::sequence(11)).ok());
  EXPECT_FALSE(encoding->accepts(Positions::sequence(3, -1)).ok());
  EXPECT_FALSE(encoding->accepts(Positions::grid(2, 2)).ok());
}

TEST(Learned, stretchesTheTableWhenAsked) {
  const auto encoding = learned({{"length", std::int64_t{4}}, {"beyond", std::string("interpolate")}});
  *encoding->parameters()[0].value = at::arange(4, at::kFloat).unsqueeze(1).expand({4, 6}).contiguous();
  ASSERT_TRUE(encoding->accepts(Positions::sequence(8)).ok());
  const at::Tensor rows = encoding->embed(encoding->begin(Positions::sequence(8), 1)).select(1, 0);
  const at::Tensor want = at::tensor({0.0, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3.0});
  EXPECT_CLOSE(rows, want, 1e-6);
}

TEST(Learned, classTokenHasItsOwnRowAndRegistersNone) {
  const auto encoding =
      learned({{"class_rows", std::int64_t{1}}, {"grid_rows", std::int64_t{2}}, {"grid_columns", std::int64_t{3}}});
  const at::Tensor table = *encoding->parameters()[0].value;
  ASSERT_TRUE(encoding->accepts(Positions::grid(2, 3, 3)).ok());
  const at::Tensor rows = encoding->embed(encoding->begin(Positions::grid(2, 3, 3), 1));
  EXPECT_TRUE(rows[0].equal(table[0]));
  EXPECT_TRUE(rows.slice(0, 1, 3).equal(at::zeros({2, 6})));
  EXPECT_TRUE(rows.slice(0, 3).equal(table.slice(0, 1)));
  EXPECT_FALSE(encoding->accepts(Positions::grid(3, 3, 1)).ok());
  EXPECT_FALSE(encoding->accepts(Positions::grid(2, 3, 0)).ok());
  EXPECT_FALSE(encoding->accepts(Positions::sequence(6)).ok());
}

// A row for each of four columns, then one for each of three rows: a patch has the sum of its two.
TEST(Learned, tablesOfAxesAddUp) {
  const Settings options{
      {"grid_rows", std::int64_t{3}}, {"grid_columns", std::int64_t{4}}, {"table", std::string("axes")}};
  const auto encoding = learned(options);
  const at::Tensor table = *encoding->parameters()[0].value;
  ASSERT_EQ(table.size(0), 7);
  const Positions grid = Positions::grid(2, 3, 1);
  ASSERT_TRUE(encoding->accepts(grid).ok());
  const at::Tensor rows = encoding->embed(encoding->begin(grid, 1));
  EXPECT_TRUE(rows[0].equal(at::zeros({6})));
  for (std::int64_t patch = 0; patch < 6; ++patch) {
    EXPECT_TRUE(rows[1 + patch].equal(table[patch % 3] + table[4 + patch / 3])) << patch;
  }
  EXPECT_TRUE(encoding->accepts(Positions::grid(3, 4, 0)).ok());
  EXPECT_FALSE(encoding->accepts(Positions::grid(4, 4, 0)).ok());
  EXPECT_FALSE(encoding->accepts(Positions::grid(3, 5, 0)).ok());
  ModelShape shape;
  shape.width = 6;
  Settings stretched = options;
  stretched.set("beyond", std::string("interpolate"));
  EXPECT_FALSE(make_encoding("learned", stretched, shape).ok());
  EXPECT_FALSE(make_encoding("learned", {{"length", std::int64_t{4}}, {"table", std::string("axes")}}, shape).ok());
}

TEST(Learned, resamplesTheTableForAnotherGrid) {
  const auto encoding = learned(
      {{"grid_rows", std::int64_t{3}}, {"grid_columns", std::int64_t{3}}, {"beyond", std::string("interpolate")}});
  encoding->parameters()[0].value->fill_(2.5);
  ASSERT_TRUE(encoding->accepts(Positions::grid(6, 5, 1)).ok());
  const at::Tensor rows = encoding->embed(encoding->begin(Positions::grid(6, 5, 1), 1));
  EXPECT_CLOSE(rows.slice(0, 1), at::full({30, 6}, 2.5), 1e-6);
}

// Sample centres at half steps: row i of h reads the table's row (i + 1/2)·S/h − 1/2, cut off at its ends.
TEST(Learned, centresLieOnHalfStepsWhereBilinear) {
  const auto encoding = learned({{"grid_rows", std::int64_t{3}},
                                 {"grid_columns", std::int64_t{4}},
                                 {"beyond", std::string("interpolate")},
                                 {"resample", std::string("bilinear")}});
  const at::Tensor table = encoding->parameters()[0].value->view({3, 4, 6});
  const auto place = [](int n, int count, std::int64_t stored) {
    const double at = (n + 0.5) * static_cast<double>(stored) / count - 0.5;
    return std::clamp(at, 0.0, static_cast<double>(stored - 1));
  };
  for (const auto& [h, w] : {std::pair{5, 7}, {2, 2}, {3, 4}, {1, 6}}) {
    const at::Tensor rows = encoding->embed(encoding->begin(Positions::grid(h, w, 0), 1)).view({h, w, 6});
    for (int i = 0; i < h; ++i) {
      for (int j = 0; j < w; ++j) {
        const double u = place(i, h, 3);
        const double v = place(j, w, 4);
        const auto top = static_cast<std::int64_t>(u);
        const auto left = static_cast<std::int64_t>(v);
        const std::int64_t below = std::min(top + 1, std::int64_t{2});
        const std::int64_t right = std::min(left + 1, std::int64_t{3});
        const double a = u - static_cast<double>(top);
        const double b = v - static_cast<double>(left);
        const at::Tensor want = (table[top][left] * (1 - b) + table[top][right] * b) * (1 - a) +
                                (table[below][left] * (1 - b) + table[below][right] * b) * a;
        EXPECT_CLOSE(rows[i][j], want, 1e-6);
      }
    }
  }
}

// Corner upon corner: row i of h reads the table's row i·(S − 1)/(h − 1), between its two neighbours.
TEST(Learned, cornersLieOnEachOtherWhereAsked) {
  const auto encoding = learned({{"grid_rows", std::int64_t{3}},
                                 {"grid_columns", std::int64_t{4}},
                                 {"beyond", std::string("interpolate")},
                                 {"resample", std::string("bilinear-corners")}});
  const at::Tensor table = encoding->parameters()[0].value->view({3, 4, 6});
  for (const auto& [h, w] : {std::pair{5, 7}, {2, 2}, {1, 6}}) {
    const at::Tensor rows = encoding->embed(encoding->begin(Positions::grid(h, w, 0), 1)).view({h, w, 6});
    for (int i = 0; i < h; ++i) {
      for (int j = 0; j < w; ++j) {
        const double u = h > 1 ? i * 2.0 / (h - 1) : 0;
        const double v = w > 1 ? j * 3.0 / (w - 1) : 0;
        const auto top = std::min(static_cast<std::int64_t>(u), std::int64_t{2});
        const auto left = std::min(static_cast<std::int64_t>(v), std::int64_t{3});
        const std::int64_t below = std::min(top + 1, std::int64_t{2});
        const std::int64_t right = std::min(left + 1, std::int64_t{3});
        const double a = u - static_cast<double>(top);
        const double b = v - static_cast<double>(left);
        const at::Tensor want = (table[top][left] * (1 - b) + table[top][right] * b) * (1 - a) +
                                (table[below][left] * (1 - b) + table[below][right] * b) * a;
        EXPECT_CLOSE(rows[i][j], want, 1e-6);
      }
    }
  }
}

// Rows behind the grid's are those of the tokens behind the patches, whatever the grid.
TEST(Learned, tokensBehindThePatchesHaveRowsOfTheirOwn) {
  const auto encoding = learned({{"class_rows", std::int64_t{1}},
                                 {"after_rows", std::int64_t{2}},
                                 {"grid_rows", std::int64_t{3}},
                                 {"grid_columns", std::int64_t{4}},
                                 {"beyond", std::string("interpolate")}});
  const at::Tensor table = *encoding->parameters()[0].value;
  ASSERT_EQ(table.size(0), 15);
  const Positions own = Positions::grid(3, 4, 1, 2);
  EXPECT_EQ(own.size(), 15);
  EXPECT_TRUE(encoding->embed(encoding->begin(own, 1)).equal(table));
  const at::Tensor other = encoding->embed(encoding->begin(Positions::grid(2, 2, 2, 2), 1));
  ASSERT_EQ(other.size(0), 8);
  EXPECT_TRUE(other[0].equal(table[0]));
  EXPECT_TRUE(other[1].eq(0).all().item<bool>());
  EXPECT_TRUE(other.slice(0, 6).equal(table.slice(0, 13)));
  EXPECT_CLOSE(other.slice(0, 2, 6),
               at::upsample_bicubic2d(table.slice(0, 1, 13).view({1, 3, 4, 6}).permute({0, 3, 1, 2}), {2, 2}, false)
                   .flatten(2)
                   .squeeze(0)
                   .t(),
               1e-6);
  EXPECT_FALSE(encoding->accepts(Positions::grid(3, 4, 1)).ok());
  EXPECT_FALSE(encoding->accepts(Positions::grid(3, 4, 1, 3)).ok());
  for (const char* const other : {"rope-axial", "rope-mixed", "relative-grid"}) {
    ModelShape shape;
    shape.trained_length = 12;
    shape.head_width = 8;
    const auto made = make_encoding(other, {}, shape);
    ASSERT_TRUE(made.ok()) << made.error().describe();
    EXPECT_TRUE((*made)->accepts(Positions::grid(3, 4, 1)).ok());
    EXPECT_FALSE((*made)->accepts(Positions::grid(3, 4, 1, 2)).ok());
  }
  const Positions part = own.slice({12, 15});
  EXPECT_EQ(part.prefix, 0);
  EXPECT_EQ(part.suffix, 2);
  EXPECT_EQ(own.slice({0, 13}).suffix, 0);
}

// Row i of n reads the table's row ⌊i·S/n⌋.
TEST(Learned, bucketsAreTheRowsOfTheSameShare) {
  const auto encoding = learned({{"grid_rows", std::int64_t{3}},
                                 {"grid_columns", std::int64_t{4}},
                                 {"beyond", std::string("interpolate")},
                                 {"resample", std::string("buckets")}});
  const at::Tensor table = encoding->parameters()[0].value->view({3, 4, 6});
  for (const auto& [h, w] : {std::pair{5, 7}, {2, 2}, {1, 6}, {3, 4}}) {
    const at::Tensor rows = encoding->embed(encoding->begin(Positions::grid(h, w, 0), 1)).view({h, w, 6});
    for (int i = 0; i < h; ++i) {
      for (int j = 0; j < w; ++j) {
        EXPECT_TRUE(rows[i][j].equal(table[i * 3 / h][j * 4 / w])) << i << ", " << j;
      }
    }
  }
}

// Shares are rounded to float32 as transformers rounds them: of 19 rows, the thirteenth reads the twelfth.
TEST(Learned, bucketsHaveTheRoundingsOfTheLibrary) {
  const auto encoding = learned(
      {{"grid_rows", std::int64_t{19}}, {"grid_columns", std::int64_t{1}}, {"resample", std::string("buckets")}});
  const at::Tensor& table = *encoding->parameters()[0].value;
  const at::Tensor rows = encoding->embed(encoding->begin(Positions::grid(19, 1, 0), 1));
  for (int i = 0; i < 19; ++i) {
    EXPECT_TRUE(rows[i].equal(table[i == 12 ? 11 : i])) << i;
  }
}

TEST(Learned, refusesBadOptions) {
  ModelShape shape;
  EXPECT_FALSE(make_encoding("learned", {}, shape).ok());
  EXPECT_FALSE(make_encoding("learned", {{"length", std::int64_t{-4}}}, shape).ok());
  EXPECT_FALSE(make_encoding("learned", {{"grid_rows", std::int64_t{2}}}, shape).ok());
  EXPECT_FALSE(make_encoding("learned", {{"beyond", std::string("wrap")}}, shape).ok());
  EXPECT_FALSE(make_encoding("learned", {{"length", std::int64_t{4}}, {"after_rows", std::int64_t{1}}}, shape).ok());
}

}  // namespace
}  // namespace locus::position
