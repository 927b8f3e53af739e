// Pictures beside the axes of tokens: where they stand, how they are made small, and which views have them.
#include "app/views/shared/plots/picture_blocks.h"

#include <gtest/gtest.h>

#include "tests/support/bundled.h"
#include "tests/support/pictured_text.h"

namespace locus::views {
namespace {

models::Picture picture_of(std::int64_t width, std::int64_t height, std::vector<std::uint8_t> grey) {
  std::vector<std::uint8_t> rgba;
  for (const std::uint8_t level : grey) {
    rgba.insert(rgba.end(), {level, static_cast<std::uint8_t>(255 - level), 7, 255});
  }
  return {width, height, std::make_shared<const std::vector<std::uint8_t>>(std::move(rgba))};
}

TEST(PictureBlocks, ASmallPictureHasTheMeansOfItsPixels) {
  const models::Picture picture = picture_of(4, 2, {10, 20, 30, 41, 12, 22, 31, 40});
  const models::Picture small = small_picture(picture, 2);
  ASSERT_EQ(small.width, 2);
  ASSERT_EQ(small.height, 1);
  const std::vector<std::uint8_t> means{16, 239, 7, 255, 36, 220, 7, 255};  // 64/4, 956/4; 142/4 and 878/4 rounded up
  EXPECT_EQ(*small.rgba, means);
  EXPECT_EQ(small_picture(picture, 4).rgba, picture.rgba);  // small enough already
  const models::Picture thin = small_picture(picture_of(1, 5, {0, 1, 2, 3, 4}), 2);
  EXPECT_EQ(thin.width, 1);
  EXPECT_EQ(thin.height, 2);
  EXPECT_EQ((*thin.rgba)[0], 1);  // of rows 0 and 1, rounded up
  EXPECT_EQ((*thin.rgba)[4], 3);  // of rows 2 to 4
  EXPECT_EQ(small_picture({}, 2).rgba, nullptr);
}

TEST(PictureBlocks, OfTheWholeAtEveryCell) {
  const auto blocks = std::make_shared<const std::vector<figure::AxisBlock>>(
      std::vector<figure::AxisBlock>{{{2, 6}, "image 1", nullptr, 0, 0}, {{7, 9}, "image 2", nullptr, 0, 0}});
  const Blocks repeated = repeated_blocks(blocks, 10, 3);
  ASSERT_EQ(repeated->size(), 6U);
  EXPECT_DOUBLE_EQ((*repeated)[0].cells.low, 0.2);
  EXPECT_DOUBLE_EQ((*repeated)[3].cells.high, 1.9);
  EXPECT_DOUBLE_EQ((*repeated)[4].cells.low, 2.2);
  EXPECT_EQ((*repeated)[5].name, "image 2");
  EXPECT_EQ(repeated_blocks(nullptr, 10, 3), nullptr);
}

// Rows of cells that end with tokens of their own are a part of their picture's block.
TEST(PictureBlocks, StandWhereTheCellsDo) {
  for (const char* family : {"qwen3_vl", "pixtral", "gemma3", "idefics3"}) {
    SCOPED_TRACE(family);
    const auto model = models::open(test::pictured_folder(family));
    ASSERT_TRUE(model.ok()) << model.error().describe();
    const auto given = test::pictured_input(family);
    ASSERT_TRUE(given.ok()) << given.error().describe();
    ViewInput input;
    input.columns.push_back(test::column_of(*model, *given));
    input.cache = std::make_shared<FieldCache>(std::size_t{1} << 20);
    const models::Trace& trace = *input.columns.front().trace;
    const Blocks blocks = picture_blocks(input, input.columns.front());
    ASSERT_TRUE(blocks);
    ASSERT_EQ(blocks->size(), trace.images().size());
    for (std::size_t n = 0; n < blocks->size(); ++n) {
      const models::ImageSpan& image = trace.images()[n];
      const figure::AxisBlock& block = (*blocks)[n];
      EXPECT_EQ(block.name, "image " + std::to_string(n + 1));
      EXPECT_EQ(block.cells.low, static_cast<double>(image.first));
      for (std::int64_t token = 0; token < trace.length(); ++token) {
        const auto at = static_cast<double>(token) + 0.5;
        EXPECT_TRUE(!image.holds(token) || (at > block.cells.low && at < block.cells.high)) << token;
      }
      EXPECT_TRUE(image.holds(static_cast<std::int64_t>(block.cells.high) - 1));
    }
    EXPECT_EQ(picture_blocks(input, input.columns.front()), blocks);  // kept: the renderer knows their textures
    for (const char* name : {"attention", "attention-grid", "logit-lens"}) {
      const auto view = find_view(name);
      ASSERT_TRUE(view.ok());
      const auto figure = (*view)->figure(input);
      ASSERT_TRUE(figure.ok()) << figure.error().describe();
      EXPECT_TRUE(figure->panels.front().x.blocks) << name;
    }
  }
}

TEST(PictureBlocks, ATextWithoutPicturesHasNone) {
  ViewInput input;
  input.columns.push_back(test::column_of(test::bundled("text-rope"), "no picture"));
  EXPECT_EQ(picture_blocks(input, input.columns.front()), nullptr);
}

}  // namespace
}  // namespace locus::views
