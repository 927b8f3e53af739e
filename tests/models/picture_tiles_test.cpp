// Pictures that are cut into tiles: where the cells of the whole picture stand among the tokens, what they are called,
// and what an edit of some of them reaches.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/engine/trace/recorded_trace.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/golden.h"
#include "tests/support/pictured_text.h"

namespace locus {
namespace {

namespace fs = std::filesystem;

// A span of `count` cells in tiles; the last number is the distance from a tile to the next.
models::ImageSpan tiled(std::int64_t first, std::int64_t count, std::int64_t rows, std::int64_t columns,
                        std::int64_t pitch, std::int64_t tile_rows, std::int64_t tile_columns, std::int64_t tile_pitch,
                        bool whole = false) {
  models::ImageSpan span{first, count, rows, columns, pitch};
  span.tile_rows = tile_rows;
  span.tile_columns = tile_columns;
  span.tile_pitch = tile_pitch;
  span.whole = whole;
  return span;
}

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
  for (const models::ImageSpan& span : {tiled(3, 24, 4, 6, 3, 2, 3, 6), tiled(0, 24, 4, 6, 5, 2, 3, 11),
                                        tiled(7, 12, 2, 6, 2, 1, 2, 2), tiled(1, 6, 6, 1, 1, 3, 1, 4)}) {
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
  EXPECT_FALSE((tiled(0, 24, 4, 6, 3, 3, 3, 9).tiles_fit()));  // 4 rows in tiles of 3
  EXPECT_FALSE((tiled(0, 24, 4, 6, 2, 2, 3, 6).tiles_fit()));  // rows of 3 every 2 tokens
  EXPECT_FALSE((tiled(0, 24, 4, 6, 3, 2, 3, 5).tiles_fit()));  // tiles of 6 every 5 tokens
  EXPECT_FALSE((tiled(0, 24, 4, 6, 6, 0, 3, 6).tiles_fit()));
}

// 2 × 2 and 1 × 2 tiles of 2 × 2 cells, each followed by the whole picture; tokens 4 to 23 and 28 to 39.
TEST_F(PictureTiles, AreOneGridAndTheWholeBehindIt) {
  const std::vector<models::ImageSpan>& images = trace_->images();
  ASSERT_EQ(images.size(), 4U);
  EXPECT_EQ(images[0], (tiled(4, 16, 4, 4, 2, 2, 2, 4)));
  EXPECT_EQ(images[1], (tiled(20, 4, 2, 2, 2, 0, 0, 0, true)));
  EXPECT_EQ(images[2], (tiled(28, 8, 2, 4, 2, 2, 2, 4)));
  EXPECT_EQ(images[3], (tiled(36, 4, 2, 2, 2, 0, 0, 0, true)));
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

// LFM2-VL's whole has another size than its tiles, and may be turned off.
TEST_F(PictureTiles, OfLfm2AreOneGridWithOrWithoutTheWhole) {
  for (const bool whole : {true, false}) {
    SCOPED_TRACE(whole);
    const test::TemporaryFolder folder;
    for (const auto& entry : fs::directory_iterator(test::pictured_folder("lfm2_vl"))) {
      fs::copy(entry.path(), folder.path());
    }
    std::ifstream file(folder.path() / "preprocessor_config.json");
    nlohmann::json config = nlohmann::json::parse(file);
    config["use_thumbnail"] = whole;
    folder.write("preprocessor_config.json", config.dump());
    const auto model = test::open_model(folder.path());
    ASSERT_NE(model, nullptr);
    models::Input input;
    input.images = {folder.path() / "image0.png", folder.path() / "image1.png"};
    input.ids = std::vector<std::int64_t>{1};
    const auto add = [&](int count, std::int64_t behind) {
      input.ids->insert(input.ids->end(), static_cast<std::size_t>(count), 72);
      input.ids->push_back(behind);
    };
    for (std::int64_t tile = 0; tile < 4; ++tile) {
      add(4, 80 + tile);
    }
    add(whole ? 6 : 0, 2);
    add(3, 3);
    const auto run = model->run(input);
    ASSERT_TRUE(run.ok()) << run.error().describe();
    ASSERT_EQ((*run)->images().size(), whole ? 3U : 2U);
    const models::ImageSpan& tiles = (*run)->images().front();
    EXPECT_EQ(tiles.rows, 4);
    EXPECT_EQ(tiles.columns, 4);
    EXPECT_EQ(tiles.tile_pitch, 5);
    EXPECT_EQ((*run)->tokens()[6].label, "image 1, row 0, column 2");
    EXPECT_EQ((*run)->images()[1].whole, whole);
    if (whole) {
      EXPECT_EQ((*run)->images()[1].rows, 3);
      EXPECT_EQ((*run)->images()[1].columns, 2);
    }
  }
}

// The family's folder with a tokenizer that has the words of pictures but `without`, and "<5>" for id 5.
void write_worded_folder(const std::string& family, const std::string& without, const test::TemporaryFolder& folder) {
  for (const auto& entry : fs::directory_iterator(test::pictured_folder(family))) {
    fs::copy(entry.path(), folder.path());
  }
  nlohmann::json words = nlohmann::json::array();
  const auto add = [&](std::int64_t id, const std::string& word) {
    if (word != without) {
      words.push_back({{"id", id}, {"content", word}, {"normalized", false}, {"special", false}});
    }
  };
  for (std::int64_t id = 1; id < 70; ++id) {
    add(id, "<" + std::to_string(id) + ">");
  }
  if (family == "lfm2_vl") {
    add(70, "<|image_start|>");
    add(71, "<|image_end|>");
    add(73, "<|img_thumbnail|>");
    for (std::int64_t tile = 0; tile < 4; ++tile) {
      add(80 + tile, "<|img_row_" + std::to_string(tile / 2 + 1) + "_col_" + std::to_string(tile % 2 + 1) + "|>");
    }
  } else {
    add(70, "<|START_OF_IMG|>");
    add(71, "<|END_OF_IMG|>");
    add(72, "<|IMG_PATCH|>");
    for (std::int64_t tile = 1; tile <= 7; ++tile) {
      add(72 + tile, "TILE_" + std::to_string(tile));
    }
    add(80, "TILE_GLOBAL");
    add(81, "<|IMG_LINE_BREAK|>");
  }
  const nlohmann::json model{{"type", "WordLevel"}, {"vocab", {{"<unk>", 0}}}, {"unk_token", "<unk>"}};
  folder.write("tokenizer.json", nlohmann::json{{"model", model}, {"added_tokens", words}}.dump());
}

// A mark becomes what the processors of Aya Vision, Command A Vision and LFM2-VL write; words that the tokenizer does not know are
// not left out.
TEST_F(PictureTiles, AreNamedByTheTokenizersWords) {
  for (const auto& [family, needed] :
       {std::pair{"aya_vision", "TILE_GLOBAL"}, std::pair{"cohere2_vision", "<|IMG_LINE_BREAK|>"},
        std::pair{"lfm2_vl", "<|img_row_2_col_1|>"}}) {
    SCOPED_TRACE(family);
    models::Input input;
    for (const char* const name : {"image0.png", "image1.png"}) {
      input.images.push_back(test::pictured_folder(family) / name);
    }
    const std::string start = family == std::string("lfm2_vl") ? "<|image_start|>" : "<|START_OF_IMG|>";
    const std::string text = "<1><5><9><image><12><30>" + start + "<image><8><21><33>";
    input.text = text;
    const test::TemporaryFolder folder;
    write_worded_folder(family, "", folder);
    const auto model = test::open_model(folder.path());
    ASSERT_NE(model, nullptr);
    const auto tokens = model->tokenize(input);
    ASSERT_TRUE(tokens.ok()) << tokens.error().describe();
    std::vector<std::int64_t> found;
    for (const models::TokenInfo& token : *tokens) {
      found.push_back(token.id);
    }
    EXPECT_EQ(found, *test::pictured_input(family)->ids);
    const test::TemporaryFolder other;
    write_worded_folder(family, needed, other);
    const auto unnamed = test::open_model(other.path());
    ASSERT_NE(unnamed, nullptr);
    const auto refused = unnamed->tokenize(input);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  }
}

}  // namespace
}  // namespace locus
