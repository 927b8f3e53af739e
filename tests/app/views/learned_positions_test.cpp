// `learned-positions`: the positions of a run, which the rotation of queries and keys confirms, and refusals.
#include <gtest/gtest.h>

#include <cmath>

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

TEST(LearnedPositions, RefusesOtherEncodings) {
  const ViewInput input = input_of("text-rope", 0);
  const Status fits = view_of("learned-positions").available(input.columns.front());
  ASSERT_FALSE(fits.ok());
  EXPECT_EQ(fits.error().message, "Learned positions are RePo's; text-rope learns none");
}

}  // namespace
}  // namespace locus::views
