// Pictures that are cut into tiles: where the cells of the whole picture stand among the tokens, what they are called,
// and what an edit of some of them reaches.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "models/engine/trace/recorded_trace.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/golden.h"
#include "tests/support/pictured_text.h"

namespace locus {
namespace {

namespace fs = std::filesystem;

class PictureTiles : public testing::Test {
 protected:
  void SetUp() override {
    model_ = test::open_model(test::pictured_folder("internvl_tiles"));
    ASSERT_NE(model_, nullptr);
    input_.ids = test::pictured_input("internvl_tiles")->ids;
    for (const char* const name : {"image0.png", "image1.png"}) {
      input_.images.push_back(test::pictured_folder("internvl_tiles") / name);
    }
    const auto run = model_->run(input_);
    ASSERT_TRUE(run.ok()) << run.error().describe();
    trace_ = *run;
  }
  const std::string& label(std::size_t token) const { return trace_->tokens()[token].label; }

  std::shared_ptr<const models::Model> model_;
  models::Input input_;
  std::shared_ptr<const models::Trace> trace_;
};

// Every tile, row and column by a loop, and every token of a text back.
TEST_F(PictureTiles, CellsAndTokensAreEachOthersInverse) {
  for (const models::ImageSpan& span :
       {models::ImageSpan{3, 24, 4, 6, 3, 2, 3, 6}, models::ImageSpan{0, 24, 4, 6, 5, 2, 3, 11},
        models::ImageSpan{7, 12, 2, 6, 2, 1, 2, 2}, models::ImageSpan{1, 6, 6, 1, 1, 3, 1, 4}}) {
    ASSERT_TRUE(span.tiles_fit());
    std::int64_t token = span.first;
    std::set<std::int64_t> tokens;
    for (std::int64_t top = 0; top < span.rows; top += span.tile_rows) {
      for (std::int64_t left = 0; left < span.columns; left += span.tile_columns) {
        for (std::int64_t row = 0; row < span.tile_rows; ++row) {
          for (std::int64_t column = 0; column < span.tile_columns; ++column) {
            const std::int64_t own = token + row * span.pitch + column;
            const std::int64_t cell = (top + row) * span.columns + left + column;
            EXPECT_EQ(span.token(cell), own);
            EXPECT_EQ(span.cell(own), cell);
            EXPECT_TRUE(tokens.insert(own).second);
          }
        }
        token += span.tile_pitch;
      }
    }
    EXPECT_EQ(tokens.size(), static_cast<std::size_t>(span.count));
    for (std::int64_t each = 0; each < token + 9; ++each) {
      EXPECT_EQ(span.holds(each), tokens.contains(each)) << each;
    }
  }
  EXPECT_FALSE((models::ImageSpan{0, 24, 4, 6, 3, 3, 3, 9}.tiles_fit()));  // 4 rows in tiles of 3
  EXPECT_FALSE((models::ImageSpan{0, 24, 4, 6, 2, 2, 3, 6}.tiles_fit()));  // rows of 3 every 2 tokens
  EXPECT_FALSE((models::ImageSpan{0, 24, 4, 6, 3, 2, 3, 5}.tiles_fit()));  // tiles of 6 every 5 tokens
  EXPECT_FALSE((models::ImageSpan{0, 24, 4, 6, 6, 0, 3, 6}.tiles_fit()));
}

// 2 × 2 and 1 × 2 tiles of 2 × 2 cells, each followed by the whole picture; tokens 4 to 23 and 28 to 39.
TEST_F(PictureTiles, AreOneGridAndTheWholeBehindIt) {
  const std::vector<models::ImageSpan>& images = trace_->images();
  ASSERT_EQ(images.size(), 4U);
  EXPECT_EQ(images[0], (models::ImageSpan{4, 16, 4, 4, 2, 2, 2, 4}));
  EXPECT_EQ(images[1], (models::ImageSpan{20, 4, 2, 2, 2, 0, 0, 0, true}));
  EXPECT_EQ(images[2], (models::ImageSpan{28, 8, 2, 4, 2, 2, 2, 4}));
  EXPECT_EQ(images[3], (models::ImageSpan{36, 4, 2, 2, 2, 0, 0, 0, true}));
  EXPECT_EQ(label(4), "image 1, row 0, column 0");
  EXPECT_EQ(label(6), "image 1, row 1, column 0");
  EXPECT_EQ(label(8), "image 1, row 0, column 2");
  EXPECT_EQ(label(12), "image 1, row 2, column 0");
  EXPECT_EQ(label(19), "image 1, row 3, column 3");
  EXPECT_EQ(label(20), "image 1 whole, row 0, column 0");
  EXPECT_EQ(label(32), "image 2, row 0, column 2");
  EXPECT_EQ(label(39), "image 2 whole, row 1, column 1");
}

// The tiles' pictures beside each other are the picture that they were cut from: the tiles' pixels at their place.
TEST_F(PictureTiles, AreSeenAsOnePicture) {
  const std::vector<models::Picture> pictures = trace_->pictures();
  ASSERT_EQ(pictures.size(), 4U);
  const at::Tensor pixels = models::recorded_of(*trace_)->data().pixels;  // (tiles, 3, 24, 24)
  const auto expect_pixels = [&](const models::Picture& picture, std::int64_t first, std::int64_t across) {
    for (std::int64_t y = 0; y < picture.height; ++y) {
      for (std::int64_t x = 0; x < picture.width; ++x) {
        const double red = (*picture.rgba)[static_cast<std::size_t>(4 * (y * picture.width + x))];
        const auto own = pixels[first + y / 24 * across + x / 24][0][y % 24][x % 24].item<double>();
        ASSERT_NEAR(own, (red / 255 - 0.485) / 0.229, 1e-5) << x << ", " << y;
      }
    }
  };
  EXPECT_EQ(pictures[0].width, 48);
  EXPECT_EQ(pictures[0].height, 48);
  EXPECT_EQ(pictures[2].width, 48);
  EXPECT_EQ(pictures[2].height, 24);
  expect_pixels(pictures[0], 0, 2);
  expect_pixels(pictures[1], 4, 1);
  expect_pixels(pictures[2], 5, 2);
  expect_pixels(pictures[3], 7, 1);
}

// Cells of one row of two tiles: tokens 5, the second column of the first tile, and 8, the first of the second.
TEST_F(PictureTiles, AMaskReachesTheCellsOfTwoTiles) {
  const auto edits = [](const std::vector<std::string>& lines) {
    models::Edits all;
    for (const std::string& line : lines) {
      const auto parsed = models::parse_edit(line, all.size());
      EXPECT_TRUE(parsed.ok()) << line;
      all.push_back(*parsed);
    }
    return all;
  };
  const std::string length = std::to_string(trace_->length());
  const auto masked = model_->edited(edits({"mask image 0 0:1,1:3"}));
  const auto cut = model_->edited(
      edits({"edge all.all queries 0:" + length + " keys 5:6", "edge all.all queries 0:" + length + " keys 8:9"}));
  ASSERT_TRUE(masked.ok() && cut.ok());
  models::RunOptions options;
  options.all_logits = true;
  const auto one = (*masked)->run(input_, options);
  const auto other = (*cut)->run(input_, options);
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_TRUE(at::equal(models::recorded_of(**one)->data().logits, models::recorded_of(**other)->data().logits));
}

// A file that turns tiles off is followed, and the run says what the family's processor would do.
TEST_F(PictureTiles, TurnedOffAreSaid) {
  const test::TemporaryFolder folder;
  for (const auto& entry : fs::directory_iterator(test::pictured_folder("internvl_tiles"))) {
    fs::copy(entry.path(), folder.path());
  }
  std::ifstream file(folder.path() / "preprocessor_config.json");
  std::string config{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::string on = "\"crop_to_patches\": true";
  ASSERT_NE(config.find(on), std::string::npos);
  config.replace(config.find(on), on.size(), "\"crop_to_patches\": false");
  folder.write("preprocessor_config.json", config);
  const auto model = test::open_model(folder.path());
  ASSERT_NE(model, nullptr);
  models::Input input = input_;
  input.ids = {{1, 72, 2}};
  input.images.resize(1);
  const auto run = model->run(input);
  ASSERT_TRUE(run.ok()) << run.error().describe();
  EXPECT_EQ((*run)->images().size(), 1U);
  EXPECT_EQ((*run)->length(), 6);
  ASSERT_FALSE((*run)->model().warnings.empty());
  EXPECT_NE((*run)->model().warnings.back().find("would cut this picture into 2 × 2 tiles"), std::string::npos);
  EXPECT_TRUE(trace_->model().warnings.empty());
}

// LLaVA-NeXT: the whole picture, then the rows of all tiles that it covers, each with its end. The first picture of
// 46 × 30 pixels covers the middle six of eight rows of cells, the second all of one tile.
class PictureRows : public testing::Test {
 protected:
  void SetUp() override {
    model_ = test::open_model(test::pictured_folder("llava_next"));
    ASSERT_NE(model_, nullptr);
    const auto given = test::pictured_input("llava_next");
    ASSERT_TRUE(given.ok()) << given.error().describe();
    pixels_ = *given;
    files_.ids = given->ids;
    for (const char* const name : {"image0.png", "image1.png"}) {
      files_.images.push_back(test::pictured_folder("llava_next") / name);
    }
  }

  std::shared_ptr<const models::Model> model_;
  models::Input pixels_;
  models::Input files_;
};

TEST_F(PictureRows, StandBehindTheWholePicture) {
  for (const models::Input& input : {files_, pixels_}) {
    const auto trace = model_->run(input);
    ASSERT_TRUE(trace.ok()) << trace.error().describe();
    std::vector<models::ImageSpan> expected{{3, 16, 4, 4, 4}, {19, 48, 6, 8, 9}, {75, 16, 4, 4, 4}, {91, 16, 4, 4, 5}};
    expected[0].whole = expected[2].whole = true;
    expected[1].ended = expected[3].ended = true;
    EXPECT_EQ((*trace)->images(), expected);
    const auto label = [&](std::size_t token) { return (*trace)->tokens()[token].label; };
    EXPECT_EQ(label(3), "image 1 whole, row 0, column 0");
    EXPECT_EQ(label(19), "image 1, row 0, column 0");
    EXPECT_EQ(label(26), "image 1, row 0, column 7");
    EXPECT_EQ(label(27), "image 1, end of row 0");
    EXPECT_EQ(label(28), "image 1, row 1, column 0");
    EXPECT_EQ(label(75), "image 2 whole, row 0, column 0");
    EXPECT_EQ(label(110), "image 2, end of row 3");
    EXPECT_TRUE((*trace)->images()[1].ends(27));
    EXPECT_FALSE((*trace)->images()[1].ends(26));
    EXPECT_FALSE((*trace)->images()[1].holds(27));
  }
  const auto trace = model_->run(files_);
  const std::vector<models::Picture> pictures = (*trace)->pictures();
  ASSERT_EQ(pictures.size(), 4U);
  EXPECT_EQ(pictures[1].width, 48);
  EXPECT_EQ(pictures[1].height, 36);
  EXPECT_EQ(pictures[3].width, 24);
}

TEST_F(PictureRows, PixelsNeedTheSizesOfTheirPictures) {
  const test::TemporaryFolder folder;
  test::Tensors tensors;
  const test::Golden golden("families-vlm/llava_next/expected");
  const auto refused = [&](const at::Tensor& sizes) {
    tensors["pixel_values"] = golden["pixel_values"];
    tensors.erase("image_sizes");
    if (sizes.defined()) {
      tensors["image_sizes"] = sizes;
    }
    test::write_tensors(folder.path() / "pixels.safetensors", tensors);
    models::Input input = pixels_;
    input.pixels = folder.path() / "pixels.safetensors";
    const auto trace = model_->run(input);
    EXPECT_FALSE(trace.ok());
    EXPECT_EQ(trace.ok() ? ErrorCode::kInternal : trace.error().code, ErrorCode::kBadInput);
    return trace.ok() ? std::string() : trace.error().describe();
  };
  const auto sizes = [](std::vector<std::int64_t> list) {
    return at::tensor(at::ArrayRef<std::int64_t>(list), at::kLong).view({-1, 2}).clone();
  };
  EXPECT_NE(refused({}).find("image_sizes: expected shape [images, 2], found none"), std::string::npos);
  EXPECT_NE(refused(sizes({30, 46})).find("as pixel_values has, found 5"), std::string::npos);
  EXPECT_NE(refused(sizes({30, 46, 30, 46})).find("found 10"), std::string::npos);
  EXPECT_NE(refused(sizes({0, 46, 22, 17})).find("heights and widths from 1"), std::string::npos);
  EXPECT_NE(refused(sizes({1, 5000, 22, 17})).find("expected"), std::string::npos);
}

// A processor of another family, or none, would give pictures without tiles.
TEST_F(PictureRows, AnotherProcessorIsRefused) {
  const test::TemporaryFolder folder;
  for (const char* const name : {"config.json", "model.safetensors"}) {
    fs::copy(test::pictured_folder("llava_next") / name, folder.path());
  }
  const auto model = test::open_model(folder.path());
  ASSERT_NE(model, nullptr);
  const auto trace = model->run(files_);
  ASSERT_FALSE(trace.ok());
  EXPECT_EQ(trace.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(trace.error().describe().find("expected LlavaNextImageProcessor"), std::string::npos)
      << trace.error().describe();
}

}  // namespace
}  // namespace locus
