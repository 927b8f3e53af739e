// `transform` and `transform-steps`: the numbers of a run of PaTH, and refusals.
#include <gtest/gtest.h>

#include <cmath>

#include "app/views/shared/view.h"
#include "core/base/numbers.h"
#include "models/api/transform_steps.h"
#include "tests/support/exported_views.h"
#include "tests/support/family_column.h"

namespace locus::views {
namespace {

using test_views::at;
using test_views::exported;
using test_views::view_of;

ViewInput path_input() {
  ViewInput input;
  input.columns.push_back(test::family_column("path_attn"));
  input.layer = 1;
  input.head = 2;
  return input;
}

TEST(Transform, DrawsTheQuantityThatIsAskedFor) {
  for (const auto& [of, quantity] :
       {std::pair("deviation", models::Quantity::kDeviation), std::pair("carried", models::Quantity::kCarried)}) {
    ViewInput input = path_input();
    input.options.set("of", std::string(of));
    const models::Trace& trace = *input.columns.front().trace;
    const Data data = exported("transform", input);
    ASSERT_EQ(data.shape, (std::vector<std::int64_t>{trace.length(), trace.length()}));
    const Field map = test_views::map_of(trace, 1, 2, quantity);
    for (std::int64_t query = 0; query < trace.length(); ++query) {
      for (std::int64_t key = 0; key < trace.length(); ++key) {
        const auto own = static_cast<double>(data.values[static_cast<std::size_t>(query * trace.length() + key)]);
        EXPECT_EQ(std::isnan(own), key > query);
        EXPECT_TRUE(key > query || own == static_cast<double>(map.at(query, key))) << query << " " << key;
        EXPECT_NEAR(key == query ? own : 0, key == query && quantity == models::Quantity::kCarried ? 1 : 0, 1e-5);
      }
    }
    const auto figure = view_of("transform").figure(input);
    ASSERT_TRUE(figure.ok());
    EXPECT_EQ(figure->panels.front().color_bar_label, describe(quantity));
    input.head = kMean;  // head 0 stands for it
    const Data mean = exported("transform", input);
    EXPECT_EQ(static_cast<double>(mean.values[static_cast<std::size_t>(9 * trace.length() + 3)]),
              static_cast<double>(test_views::map_of(trace, 1, 0, quantity).at(9, 3)));
  }
}

TEST(Transform, StepsAreThoseOfTheCell) {
  ViewInput input = path_input();
  input.query = 15;
  input.key = 6;
  const auto steps = models::transform_steps(*input.columns.front().trace, 1, 2, 15, 6);
  ASSERT_TRUE(steps.ok());
  const Data data = exported("transform-steps", input);
  EXPECT_EQ(data.columns,
            (std::vector<std::string>{"token", "strength", "change", "carried", "deviation", "determinant"}));
  ASSERT_EQ(data.shape, (std::vector<std::int64_t>{10, 6}));
  EXPECT_TRUE(std::isnan(at(data, 0, 1)));
  std::int64_t most = 1;
  for (std::int64_t row = 0; row < 10; ++row) {
    const auto n = static_cast<std::size_t>(row);
    EXPECT_EQ(at(data, row, 0), static_cast<double>(6 + row));
    if (row > 0) {
      test_views::expect_near(at(data, row, 1), steps->strength[n]);
    }
    test_views::expect_near(at(data, row, 2), steps->change[n]);
    test_views::expect_near(at(data, row, 3), steps->carried[n]);
    test_views::expect_near(at(data, row, 4), steps->deviation[n]);
    test_views::expect_near(at(data, row, 5), steps->determinant[n]);
    most = row > 0 && std::abs(at(data, row, 2)) > std::abs(at(data, most, 2)) ? row : most;
  }
  const auto figure = view_of("transform-steps").figure(input);
  ASSERT_TRUE(figure.ok());
  EXPECT_EQ(figure->panels.size(), 3U);
  EXPECT_NE(figure->statement.find("token " + std::to_string(6 + most) + " \""), std::string::npos)
      << figure->statement;
}

TEST(Transform, StepsBeginWithTheFirstKeyAndEndWithTheLastQuery) {
  ViewInput input = path_input();
  const std::int64_t length = input.columns.front().trace->length();
  EXPECT_EQ(exported("transform-steps", input).shape.front(), length);
  input.query = 0;
  EXPECT_EQ(exported("transform-steps", input).shape.front(), 1);
  EXPECT_NE(view_of("transform-steps").figure(input)->statement.find("nothing stands between"), std::string::npos);
  input.key = 3;
  const auto after = view_of("transform-steps").figure(input);
  ASSERT_FALSE(after.ok());
  EXPECT_EQ(after.error().code, ErrorCode::kUsage);
  input.head = kMean;
  EXPECT_EQ(view_of("transform-steps").figure(input).error().code, ErrorCode::kUsage);
}

TEST(Transform, RefusesOtherEncodings) {
  const Column rope = test_views::input_of().columns.front();
  EXPECT_EQ(view_of("transform").available(rope).error().message,
            "Accumulated transformation: text-rope changes no keys on their way, as PaTH does");
  EXPECT_EQ(view_of("transform-steps").available(rope).error().message,
            "Steps of the transformation: text-rope changes no keys on their way, as PaTH does");
}

}  // namespace
}  // namespace locus::views
