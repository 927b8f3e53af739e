// `learned-positions`: the positions of a run, which the rotation of queries and keys confirms, and refusals.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "app/views/shared/view.h"
#include "core/base/order.h"
#include "tests/support/bundled.h"
#include "tests/support/exported_views.h"

namespace locus::views {
namespace {

using test_views::at;
using test_views::view_of;

ViewInput input_of(const char* name, std::int64_t layer) {
  models::Input input;
  input.text = "The old man closed the door. He sat down by the fire.";
  ViewInput made;
  made.columns.push_back(test::column_of(test::bundled(name), input, name));
  made.layer = layer;
  return made;
}

TEST(LearnedPositions, AreThoseOfTheRun) {
  const ViewInput input = input_of("text-repo", 2);
  const models::Trace& trace = *input.columns.front().trace;
  const auto data = view_of("learned-positions").data(input);
  ASSERT_TRUE(data.ok()) << data.error().describe();
  EXPECT_EQ(data->columns, (std::vector<std::string>{"token", "head 2.0", "head 2.1", "head 2.2", "head 2.3"}));
  ASSERT_EQ(data->shape, (std::vector<std::int64_t>{trace.length(), 5}));
  const auto places = trace.state_numbers(2, models::StateNumber::kPosition);
  ASSERT_TRUE(places.ok()) << places.error().describe();
  for (std::int64_t token = 0; token < trace.length(); ++token) {
    EXPECT_EQ(at(*data, token, 0), static_cast<double>(token));
    for (std::int64_t head = 0; head < 4; ++head) {
      test_views::expect_near(at(*data, token, head + 1), static_cast<double>(places->at(head, token)));
    }
  }
}

TEST(LearnedPositions, NamesTheHeadThatReversesMost) {
  const ViewInput input = input_of("text-repo", 1);
  const auto figure = view_of("learned-positions").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  const auto places = input.columns.front().trace->state_numbers(1, models::StateNumber::kPosition);
  ASSERT_TRUE(places.ok());
  std::int64_t most = 0;
  double share = -1;
  for (std::int64_t head = 0; head < places->rows; ++head) {
    const auto begin = places->values.begin() + head * places->columns;
    const double own = reversed_pairs(std::vector<double>(begin, begin + places->columns));
    most = own > share ? head : most;
    share = std::max(share, own);
  }
  ASSERT_GT(share, 0);
  EXPECT_EQ(figure->statement.rfind("head 1." + std::to_string(most) + " reverses ", 0), 0U) << figure->statement;
  ASSERT_EQ(figure->panels.size(), 1U);
  EXPECT_EQ(figure->panels.front().layers.size(), 4U);
  ViewInput one = input;
  one.head = 3;
  one.options.set("head", true);
  one.options.set("index", true);
  const auto alone = view_of("learned-positions").figure(one);
  ASSERT_TRUE(alone.ok()) << alone.error().describe();
  EXPECT_EQ(alone->panels.front().layers.size(), 2U);
  EXPECT_EQ(alone->statement.find(" heads"), std::string::npos) << alone->statement;
}

// Every cell by hand: its range is found from the ends of all of them.
TEST(LearnedPositions, AttentionIsTheMeanOfTheCellsAtADistance) {
  ViewInput input = input_of("text-repo", 1);
  const models::Trace& trace = *input.columns.front().trace;
  constexpr std::int64_t kRanges = 7;
  constexpr std::int64_t kSkipped = 2;
  input.options.set("of", std::string("attention"));
  input.options.set("bins", kRanges);
  input.options.set("skip-first", kSkipped);
  const Data data = test_views::exported("learned-positions", input);
  ASSERT_EQ(data.shape, (std::vector<std::int64_t>{kRanges, 1 + 3 * 4}));
  const auto places = trace.state_numbers(1, models::StateNumber::kPosition);
  ASSERT_TRUE(places.ok());
  double most = -1;
  std::string best;
  for (std::int64_t head = 0; head < 4; ++head) {
    const Field weights = test_views::map_of(trace, 1, head);
    const auto distance = [&](std::int64_t i, std::int64_t j) {
      return static_cast<double>(places->at(head, i)) - static_cast<double>(places->at(head, j));
    };
    double least = std::numeric_limits<double>::infinity();
    double largest = -least;
    for (std::int64_t i = 0; i < trace.length(); ++i) {
      for (std::int64_t j = kSkipped; j <= i; ++j) {
        least = std::min(least, distance(i, j));
        largest = std::max(largest, distance(i, j));
      }
    }
    const double width = (largest - least) / kRanges;
    for (std::int64_t range = 0; range < kRanges; ++range) {
      double sum = 0;
      std::int64_t cells = 0;
      for (std::int64_t i = 0; i < trace.length(); ++i) {
        for (std::int64_t j = kSkipped; j <= i; ++j) {
          const auto own = static_cast<std::int64_t>(std::floor((distance(i, j) - least) / width));
          if (std::min(own, kRanges - 1) == range) {
            sum += static_cast<double>(weights.at(i, j));
            ++cells;
          }
        }
      }
      const std::string name = "head 1." + std::to_string(head);
      const double middle = least + (static_cast<double>(range) + 0.5) * width;
      test_views::expect_near(at(data, range, test_views::column_named(data, name + " distance")), middle);
      EXPECT_EQ(at(data, range, test_views::column_named(data, name + " cells")), static_cast<double>(cells));
      const double mean = at(data, range, test_views::column_named(data, name + " weight"));
      EXPECT_EQ(std::isnan(mean), cells == 0);
      if (cells > 0) {
        test_views::expect_near(mean, sum / static_cast<double>(cells));
        best = mean > most ? name : best;
        most = std::max(most, mean);
      }
    }
  }
  const auto figure = view_of("learned-positions").figure(input);
  ASSERT_TRUE(figure.ok());
  EXPECT_EQ(figure->statement.rfind(best + " gives most", 0), 0U) << figure->statement;
  input.options.set("skip-first", std::int64_t{4096});
  const auto none = view_of("learned-positions").figure(input);
  ASSERT_TRUE(none.ok()) << none.error().describe();
  EXPECT_NE(none->statement.find("all keys are left out"), std::string::npos);
}

TEST(LearnedPositions, RefusesOtherEncodings) {
  const ViewInput input = input_of("text-rope", 0);
  const Status fits = view_of("learned-positions").available(input.columns.front());
  ASSERT_FALSE(fits.ok());
  EXPECT_EQ(fits.error().message, "Learned positions are RePo's; text-rope learns none");
}

}  // namespace
}  // namespace locus::views
