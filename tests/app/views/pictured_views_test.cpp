// Every view on texts with pictures: it draws, or says in one line why it does not.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "app/views/shared/plots/patch_grid.h"
#include "app/views/shared/view.h"
#include "tests/support/bundled.h"
#include "tests/support/pictured_text.h"

namespace locus::views {
namespace {

void expect_drawn_or_refused(const std::string& family, bool filmed = false) {
  const auto model = models::open(test::pictured_folder(family));
  ASSERT_TRUE(model.ok()) << model.error().describe();
  const auto given = filmed ? test::filmed_input(family) : test::pictured_input(family);
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

TEST(PicturedViews, OfVideos) {
  expect_drawn_or_refused("qwen2_5_vl", true);
}

// A picture of 3 × 2 cells, and a video of three groups of frames of 2 × 3 cells.
TEST(PicturedViews, OfVideosShowOneFrameOrAll) {
  const auto model = models::open(test::pictured_folder("qwen2_vl"));
  ASSERT_TRUE(model.ok()) << model.error().describe();
  const auto given = test::filmed_input("qwen2_vl");
  ASSERT_TRUE(given.ok()) << given.error().describe();
  ViewInput input;
  input.columns.push_back(test::column_of(*model, *given));
  const std::vector<PatchArea> areas = patch_areas(*input.columns.front().trace);
  ASSERT_EQ(areas.size(), 4U);
  EXPECT_EQ(areas[0].name, "image 1");
  EXPECT_EQ(areas[1].name, "video 1, frame 0");
  EXPECT_EQ(areas[3].name, "video 1, frame 2");
  const auto view = find_view("attention-image");
  ASSERT_TRUE(view.ok());
  for (const auto& [frame, cells] : {std::pair{-1, 24}, std::pair{1, 12}, std::pair{9, 12}}) {
    SCOPED_TRACE(frame);
    input.options.set("frame", std::int64_t{frame});
    const auto figure = (*view)->figure(input);
    ASSERT_TRUE(figure.ok()) << figure.error().describe();
    EXPECT_EQ(figure->panels.size(), frame < 0 ? 4U : 2U);
    const std::string last = frame == 1 ? "video 1, frame 1" : "video 1, frame 2";  // the last one for more
    EXPECT_NE(figure->panels.back().title.find(last), std::string::npos) << figure->panels.back().title;
    const auto data = (*view)->data(input);
    ASSERT_TRUE(data.ok()) << data.error().describe();
    EXPECT_EQ(data->shape, (std::vector<std::int64_t>{cells}));
  }
}

TEST(PicturedViews, OfTiles) {
  expect_drawn_or_refused("internvl_tiles");
  expect_drawn_or_refused("llava_next");
  expect_drawn_or_refused("llava_onevision");
  expect_drawn_or_refused("aya_vision");
}

}  // namespace
}  // namespace locus::views
