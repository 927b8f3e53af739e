#include "core/position/rope_axial.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "core/position/list.h"
#include "core/position/shared/pair_form.h"
#include "tests/support/golden.h"

namespace locus::position {
namespace {

// Rows turn by the even ones of base^(−2k/D), columns by the odd ones.
TEST(RopeAxial, frequenciesAlternateWhereAsked) {
  ModelShape shape;
  shape.head_width = 8;
  shape.width = 8;
  const auto made = make_encoding("rope-axial",
                                  {{"base", 30.0},
                                   {"first", std::string("rows")},
                                   {"layout", std::string("half")},
                                   {"frequencies", std::string("alternating")}},
                                  shape);
  ASSERT_TRUE(made.ok()) << made.error().describe();
  const Positions grid = Positions::grid(3, 2, 0);
  Projections projections;
  projections.query = at::zeros({1, 1, 6, 8});
  projections.query.slice(-1, 0, 4).fill_(1);  // (1, 0) a pair: the turned pair is (cos, sin)
  projections.key = projections.query;
  const Prepared prepared = (*made)->prepare((*made)->begin(grid, 1), 0, projections);
  for (int t = 0; t < 6; ++t) {
    for (int m = 0; m < 4; ++m) {
      const double place = m < 2 ? t / 2 : t % 2;
      const int k = m < 2 ? 2 * m : 2 * (m - 2) + 1;
      const double angle = place * std::pow(30.0, -2.0 * k / 8);
      EXPECT_NEAR(prepared.query[0][0][t][m].item<double>(), std::cos(angle), 1e-6);
      EXPECT_NEAR(prepared.query[0][0][t][m + 4].item<double>(), std::sin(angle), 1e-6);
    }
  }
}

// Channels of columns, then those of rows; a pair is a channel of the first half of its axis and one of the second.
TEST(RopeAxial, axesMayHaveTheirChannelsTogether) {
  ModelShape shape;
  shape.head_width = 8;
  shape.width = 8;
  const auto made = make_encoding(
      "rope-axial", {{"base", 30.0}, {"first", std::string("columns")}, {"layout", std::string("axes")}}, shape);
  ASSERT_TRUE(made.ok()) << made.error().describe();
  Projections projections;
  projections.query = at::tensor({1.0F, 1.0F, 0.0F, 0.0F, 1.0F, 1.0F, 0.0F, 0.0F}).expand({1, 1, 6, 8}).contiguous();
  projections.key = projections.query;
  const Prepared prepared = (*made)->prepare((*made)->begin(Positions::grid(3, 2, 0), 1), 0, projections);
  for (int t = 0; t < 6; ++t) {
    for (int m = 0; m < 4; ++m) {
      const int first = m < 2 ? m : m + 2;
      const double angle = (m < 2 ? t % 2 : t / 2) * std::pow(30.0, -4.0 * (m % 2) / 8);
      EXPECT_NEAR(prepared.query[0][0][t][first].item<double>(), std::cos(angle), 1e-6);
      EXPECT_NEAR(prepared.query[0][0][t][first + 2].item<double>(), std::sin(angle), 1e-6);
    }
  }
  const auto channels = pair_channels(4, PairLayout::kAxes);
  EXPECT_EQ(channels, (std::vector<std::vector<std::int64_t>>{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
}

// The first token without position turns by its own angles, the second not at all.
TEST(RopeAxial, classTokensTurnByTrainedAngles) {
  ModelShape shape;
  shape.head_width = 8;
  shape.width = 8;
  const auto made =
      make_encoding("rope-axial", {{"class_angles", std::int64_t{1}}, {"layout", std::string("half")}}, shape);
  ASSERT_TRUE(made.ok()) << made.error().describe();
  ASSERT_EQ((*made)->parameters().size(), 1U);
  *(*made)->parameters()[0].value = at::tensor({0.3F, -1.2F, 2.0F, 5.0F}).view({1, 4});
  const Positions grid = Positions::grid(2, 2, 2);
  Projections projections;
  projections.query = at::zeros({1, 1, 6, 8});
  projections.query.slice(-1, 0, 4).fill_(1);
  projections.key = projections.query;
  const Prepared prepared = (*made)->prepare((*made)->begin(grid, 1), 0, projections);
  for (int m = 0; m < 4; ++m) {
    const double angle = std::array{0.3, -1.2, 2.0, 5.0}.at(static_cast<std::size_t>(m));
    for (const at::Tensor& turned : {prepared.query[0][0], prepared.key[0][0]}) {
      EXPECT_NEAR(turned[0][m].item<double>(), std::cos(angle), 1e-6);
      EXPECT_NEAR(turned[0][m + 4].item<double>(), std::sin(angle), 1e-6);
      EXPECT_EQ(turned[1][m].item<double>(), 1);
      EXPECT_EQ(turned[2][m].item<double>(), 1);  // patch (0, 0)
    }
  }
  EXPECT_FALSE((*made)->accepts(Positions::grid(2, 2, 0)).ok());
}

}  // namespace
}  // namespace locus::position
