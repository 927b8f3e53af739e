// Tokens and heads that can be moved and read. The numbers of moves are compared in edit_views_test.cpp.
#include "models/api/move_curve.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/checkpoint_folder.h"
#include "tests/support/paths.h"

namespace locus::test {

TEST(MoveCurve, RefusesTokensAndHeadsThatAreNotThere) {
  const auto model = open_model(source_dir() + "/assets/checkpoints/text-rope", models::OpenOptions());
  models::Input input;
  input.text = "To be, or not";
  const auto trace = model->run(input, {});
  ASSERT_TRUE(trace.ok()) << trace.error().describe();
  constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
  const auto length = static_cast<std::int64_t>((*trace)->tokens().size());
  for (const Range tokens : {Range{-1, 1}, Range{kLowest / 2, 1}, Range{kLowest, kHighest}, Range{0, length + 1},
                             Range{2, 2}, Range{3, 2}}) {
    const models::MoveOptions options{.tokens = tokens, .by = {1}};
    const auto curve = models::move_curve(*model, **trace, options);
    ASSERT_FALSE(curve.ok()) << tokens.begin << ", " << tokens.end;
    EXPECT_EQ(curve.error().code, ErrorCode::kBadInput);
    EXPECT_NE(curve.error().message.find("range of tokens within 0 to " + std::to_string(length)), std::string::npos);
    const auto map = models::move_map(*model, **trace, options);
    ASSERT_FALSE(map.ok());
    EXPECT_EQ(map.error().code, ErrorCode::kBadInput);
  }
  const models::MoveOptions lower{.tokens = {0, 1}, .by = {1}, .layer = 0, .head = -5};
  EXPECT_EQ(models::move_curve(*model, **trace, lower).error().code, ErrorCode::kBadInput);
  const models::MoveOptions whole{.tokens = {0, length}, .by = {1}};
  EXPECT_TRUE(models::move_curve(*model, **trace, whole).ok());
}

}  // namespace locus::test
