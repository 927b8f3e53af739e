// Every view on texts with pictures: it draws, or says in one line why it does not.
#include <gtest/gtest.h>

#include "app/views/shared/view.h"
#include "tests/support/bundled.h"
#include "tests/support/pictured_text.h"

namespace locus::views {
namespace {

void expect_drawn_or_refused(const std::string& family) {
  const auto model = models::open(test::pictured_folder(family));
  ASSERT_TRUE(model.ok()) << model.error().describe();
  const auto given = test::pictured_input(family);
  ASSERT_TRUE(given.ok()) << given.error().describe();
  ViewInput input;
  input.columns.push_back(test::column_of(*model, *given));
  input.layer = 1;
  input.head = 1;
  for (const View* view : views()) {
    SCOPED_TRACE(family + ": " + view->info().name);
    const Status available = view->available(input.columns.front());
    const auto figure = available.ok() ? view->figure(input) : Result<figure::Figure>(available.error());
    if (figure.ok()) {
      EXPECT_FALSE(figure->panels.empty());
      EXPECT_TRUE(view->data(input).ok());
      continue;
    }
    const Error& error = figure.error();
    EXPECT_TRUE(error.code == ErrorCode::kUnsupported || error.code == ErrorCode::kBadInput ||
                error.code == ErrorCode::kUsage)
        << error.describe();
    EXPECT_EQ(error.describe().find('\n'), std::string::npos) << error.describe();
  }
}

TEST(PicturedViews, OfPositionsThatAreVectors) {
  expect_drawn_or_refused("qwen3_vl");
}

TEST(PicturedViews, OfBlocksThatSeeEachOther) {
  expect_drawn_or_refused("gemma3");
}

TEST(PicturedViews, OfRowsThatEnd) {
  expect_drawn_or_refused("pixtral");
}

}  // namespace
}  // namespace locus::views
