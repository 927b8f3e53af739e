#include "core/position/rope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/position/list.h"
#include "tests/support/golden.h"

namespace locus::position {
namespace {

ModelShape shape_of(std::int64_t heads, std::int64_t head_width, std::int64_t kv_heads = 0) {
  ModelShape shape;
  shape.heads = heads;
  shape.kv_heads = kv_heads > 0 ? kv_heads : heads;
  shape.head_width = head_width;
  shape.width = heads * head_width;
  shape.trained_length = 2048;
  return shape;
}

TEST(Rope, longropeWritesItsFactorsAndTakesOneAPair) {
  const std::vector<double> near{1, 1.5, 2, 4};
  const std::vector<double> far{2, 3, 4, 8};
  const Settings asked{{"scaling", std::string("longrope")}, {"short_factor", near}, {"long_factor", far}};
  const auto made = make_encoding("rope", asked, shape_of(1, 8));
  ASSERT_TRUE(made.ok()) << made.error().describe();
  const Settings written = (*made)->settings();
  EXPECT_TRUE(written.has("short_factor") && written.has("long_factor"));
  const auto again = make_encoding("rope", written, shape_of(1, 8));
  ASSERT_TRUE(again.ok()) << again.error().describe();
  EXPECT_EQ((*again)->settings(), written);
  EXPECT_FALSE(make_encoding("rope", asked, shape_of(1, 16)).ok());
  EXPECT_FALSE(
      make_encoding("rope", {{"scaling", std::string("longrope")}, {"short_factor", std::string("1")}}, shape_of(1, 8))
          .ok());
}

TEST(Rope, anglesStayExactAtPosition131072) {
  const auto made = make_encoding("rope", {{"base", 500000.0}}, shape_of(1, 128));
  ASSERT_TRUE(made.ok());
  const State state = (*made)->begin(Positions::sequence(1, 131072), 1);
  Projections projections;
  projections.query = at::zeros({1, 1, 1, 128});
  projections.query.slice(-1, 0, 64).fill_(1);  // (1, 0) a pair: the turned pair is (cos, sin)
  projections.key = projections.query;
  const Prepared prepared = (*made)->prepare(state, 0, projections);
  for (int m = 0; m < 64; ++m) {
    const long double angle = 131072.0L * std::pow(500000.0L, -2.0L * m / 128.0L);
    EXPECT_NEAR(prepared.query[0][0][0][m].item<double>(), static_cast<double>(std::cos(angle)), 1e-6);
    EXPECT_NEAR(prepared.query[0][0][0][m + 64].item<double>(), static_cast<double>(std::sin(angle)), 1e-6);
  }
}

TEST(Rope, dotProductOfAPositionWithItselfIsTheWidth) {
  const auto made = make_encoding("rope", {}, shape_of(4, 8));
  ASSERT_TRUE(made.ok());
  const at::Tensor vectors = (*made)->vectors((*made)->begin(Positions::sequence(7), 1), 0);
  const at::Tensor products = dot_products(vectors, {0, 7}, {0, 7}, false);
  EXPECT_EQ(products.sizes(), at::IntArrayRef({1, 7, 7}));
  EXPECT_CLOSE(products.diagonal(0, 1, 2), at::full({1, 7}, 8.0), 1e-6);
}

TEST(Rope, partialRotationLeavesTheOtherChannels) {
  const auto made = make_encoding("rope", {{"fraction", 0.25}}, shape_of(2, 16));
  ASSERT_TRUE(made.ok());
  Projections projections;
  projections.query = at::randn({1, 2, 9, 16});
  projections.key = at::randn({1, 2, 9, 16});
  const Prepared prepared = (*made)->prepare((*made)->begin(Positions::sequence(9), 1), 0, projections);
  EXPECT_TRUE(prepared.query.slice(-1, 4).equal(projections.query.slice(-1, 4)));
  EXPECT_FALSE(prepared.query.slice(-1, 0, 4).equal(projections.query.slice(-1, 0, 4)));
}

TEST(Rope, refusesWhatItCannotTurn) {
  EXPECT_FALSE(make_encoding("rope", {}, shape_of(2, 7)).ok());
  EXPECT_FALSE(make_encoding("rope", {{"fraction", 0.0}}, shape_of(2, 8)).ok());
  EXPECT_FALSE(make_encoding("rope", {{"base", -1.0}}, shape_of(2, 8)).ok());
  EXPECT_FALSE(make_encoding("rope", {{"layout", std::string("thirds")}}, shape_of(2, 8)).ok());
  EXPECT_FALSE(make_encoding("rope", {{"scaling", std::string("ntk")}}, shape_of(2, 2)).ok());
  EXPECT_FALSE(make_encoding("rope", {{"bass", 1.0}}, shape_of(2, 8)).ok());
  const auto grid = make_encoding("rope", {}, shape_of(2, 8));
  ASSERT_TRUE(grid.ok());
  EXPECT_FALSE((*grid)->accepts(Positions::grid(2, 2)).ok());
}

}  // namespace
}  // namespace locus::position
