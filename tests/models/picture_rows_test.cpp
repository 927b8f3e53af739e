// Pictures of LLaVA-NeXT: the whole picture, and behind it the rows of its tiles, each with a vector at its end.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/checkpoint_folder.h"
#include "tests/support/golden.h"
#include "tests/support/pictured_text.h"

namespace locus {
namespace {

namespace fs = std::filesystem;

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

// LLaVA-OneVision: the 8 × 8 cells of 2 × 2 tiles become 5 × 5, those of a row of two tiles stay 4 × 8.
TEST_F(PictureRows, CellsOfLargePicturesAreReduced) {
  const auto model = test::open_model(test::pictured_folder("llava_onevision"));
  ASSERT_NE(model, nullptr);
  models::Input input = *test::pictured_input("llava_onevision", true);
  input.pixels.reset();
  const auto trace = model->run(input);
  ASSERT_TRUE(trace.ok()) << trace.error().describe();
  const std::vector<models::ImageSpan>& images = (*trace)->images();
  ASSERT_EQ(images.size(), 4U);  // of each picture the whole and its rows
  EXPECT_TRUE(images[0].whole);
  EXPECT_EQ(images[1].rows, 5);
  EXPECT_EQ(images[1].columns, 5);
  EXPECT_TRUE(images[1].ended);
  EXPECT_EQ(images[3].rows, 4);
  EXPECT_EQ(images[3].columns, 8);
}

TEST_F(PictureRows, OfOneVisionRefuseWhatIsNotRead) {
  const test::TemporaryFolder folder;
  const fs::path from = test::pictured_folder("llava_onevision");
  for (const char* const name : {"config.json", "model.safetensors"}) {
    fs::copy(from / name, folder.path());
  }
  const auto model = test::open_model(folder.path());
  ASSERT_NE(model, nullptr);
  models::Input input = *test::pictured_input("llava_onevision", true);
  input.pixels.reset();
  const auto without = model->run(input);
  ASSERT_FALSE(without.ok());
  EXPECT_NE(without.error().describe().find("expected LlavaOnevisionImageProcessor"), std::string::npos)
      << without.error().describe();
  models::Input film;
  film.ids = std::vector<std::int64_t>{1, 73, 2};
  const auto video = model->run(film);
  ASSERT_FALSE(video.ok());
  EXPECT_NE(video.error().describe().find("read no videos"), std::string::npos) << video.error().describe();
  nlohmann::json config = nlohmann::json::parse(std::ifstream(from / "config.json"));
  for (const char* const ratio : {"square", "anyres_max_", "anyres_max_0", "anyres_max_999", "anyres_max_9x"}) {
    config["vision_aspect_ratio"] = ratio;
    std::ofstream(folder.path() / "config.json") << config;
    const auto other = models::open(folder.path());
    ASSERT_FALSE(other.ok()) << ratio;
    EXPECT_NE(other.error().describe().find("vision_aspect_ratio"), std::string::npos) << other.error().describe();
  }
}

}  // namespace
}  // namespace locus
