// Traces of texts with pictures that another program wrote: what they show, and files that are not what they say.
#include <gtest/gtest.h>

#include <map>

#include "models/engine/trace/recorded_trace.h"
#include "models/formats/tensor_source.h"
#include "tests/support/checkpoint_folder.h"

namespace locus {
namespace {

using PictureParts = std::map<std::string, at::Tensor>;
using PictureMetadata = std::map<std::string, std::string>;

constexpr std::int64_t kMixedTokens = 9;
constexpr std::int64_t kPatches = 4;

// Two words, a picture of 2 × 2 cells whose rows end with a token, a word: cells 2, 3 and 5, 6.
PictureParts pictured_parts() {
  at::manual_seed(7);
  at::Tensor mask = at::zeros({kMixedTokens}, at::kLong);
  mask.index_fill_(0, at::tensor({2, 3, 5, 6}, at::kLong), 1);
  return {{"input_ids", at::arange(kMixedTokens)},
          {"position_ids", at::arange(3 * kMixedTokens).reshape({3, kMixedTokens}).contiguous()},
          {"mm_mask", mask},
          {"image_embeds", at::randn({4, 6})},
          {"deepstack.0", at::randn({4, 6})},
          {"image_grid_thw", at::tensor({1, 2, 2}, at::kLong).reshape({1, 3})},
          {"layers.0.attention", at::softmax(at::randn({2, kMixedTokens, kMixedTokens}), -1).tril()},
          {"vision.position_ids", at::zeros({kPatches, 2}, at::kLong)},
          {"vision.layers.0.attention", at::softmax(at::randn({3, kPatches, kPatches}), -1)}};
}

PictureMetadata pictured_metadata() {
  return {{"images", R"([{"first": 2, "count": 4, "rows": 2, "columns": 2, "pitch": 3}])"}, {"vision.causal", "false"}};
}

class TracePictures : public testing::Test {
 protected:
  Result<std::shared_ptr<const models::Trace>> opened(const PictureParts& parts, PictureMetadata metadata) const {
    std::vector<formats::OutputTensor> tensors;
    for (const auto& [name, tensor] : parts) {
      tensors.push_back({name,
                         tensor.scalar_type() == at::kLong ? formats::DType::kI64 : formats::DType::kF32,
                         tensor.sizes().vec(),
                         {static_cast<const std::byte*>(tensor.data_ptr()), tensor.nbytes()}});
    }
    metadata.emplace("locus.format", "trace/1");
    const auto path = folder_.path() / "pictured.safetensors";
    EXPECT_TRUE(formats::write_safetensors(path, tensors, metadata).ok());
    return test::open_trace(path);
  }
  void expect_refused(const PictureParts& parts, const PictureMetadata& metadata, const std::string& naming) const {
    const auto trace = opened(parts, metadata);
    ASSERT_FALSE(trace.ok()) << naming;
    EXPECT_EQ(trace.error().code, ErrorCode::kBadInput);
    EXPECT_NE(trace.error().describe().find(naming), std::string::npos) << trace.error().describe();
  }

  test::TemporaryFolder folder_;
};

TEST_F(TracePictures, ShowPicturesPositionsAndTheTower) {
  const auto trace = opened(pictured_parts(), pictured_metadata());
  ASSERT_TRUE(trace.ok()) << trace.error().describe();
  ASSERT_EQ((*trace)->images().size(), 1U);
  const models::ImageSpan& span = (*trace)->images().front();
  EXPECT_EQ(span.token(3), 6);
  EXPECT_TRUE(span.holds(5));
  EXPECT_FALSE(span.holds(4));
  EXPECT_FALSE(span.holds(7));
  const auto vectors = (*trace)->position_vectors();
  ASSERT_EQ(vectors.size(), static_cast<std::size_t>(kMixedTokens));
  EXPECT_EQ(vectors[4], (std::array<double, 3>{4, 4 + kMixedTokens, 4 + 2 * kMixedTokens}));
  EXPECT_EQ((*trace)->tokens()[4].position, 4);
  EXPECT_EQ((*trace)->model().vision_layers, 1);
  const auto tower = (*trace)->side(models::Side::kVision);
  ASSERT_NE(tower, nullptr);
  EXPECT_EQ(tower->length(), kPatches);
  EXPECT_EQ(tower->model().heads, 3);
}

TEST_F(TracePictures, AreRefusedWhereTheyDoNotFitTheText) {
  const PictureParts parts = pictured_parts();
  const auto with = [](const std::string& images) {
    PictureMetadata metadata = pictured_metadata();
    metadata["images"] = images;
    return metadata;
  };
  expect_refused(parts, with("3"), "images: expected a list");
  expect_refused(parts, with("[3]"), "images[0]");
  expect_refused(parts, with("[{}]"), "images[0]");
  expect_refused(parts, with(R"([{"first": 2, "count": 4, "rows": 2, "columns": 3}])"), "images[0]: expected count");
  expect_refused(parts, with(R"([{"first": 6, "count": 4, "rows": 2, "columns": 2}])"), "before token 9");
  expect_refused(parts, with(R"([{"first": 2, "count": 4, "rows": 2, "columns": 2, "pitch": 1}])"), "pitch 1");
  const auto tiled = [&](const std::string& more) {
    return with(R"([{"first": 2, "count": 4, "rows": 2, "columns": 2, "pitch": 1, )" + more + "}]");
  };
  expect_refused(parts, tiled(R"("tile_rows": 2)"), "expected tiles that divide");
  expect_refused(parts, tiled(R"("tile_rows": 2, "tile_columns": 1, "tile_pitch": 1)"), "tile_pitch 1");
  expect_refused(parts, tiled(R"("tile_rows": 3, "tile_columns": 1, "tile_pitch": 3)"), "tile_rows 3");
  expect_refused(parts, tiled(R"("tile_rows": 2, "tile_columns": 2, "tile_pitch": 4)"), "pitch 1");
  expect_refused(parts, tiled(R"("tile_rows": 2, "tile_columns": 1, "tile_pitch": 6)"), "before token 9");
  expect_refused(parts, tiled(R"("tile_rows": -1, "tile_columns": 1, "tile_pitch": 2)"), "tile_rows");
  expect_refused(parts, tiled(R"("whole": 3)"), "whole");
  expect_refused(parts, tiled(R"("ended": true)"), "room for their ends");
  expect_refused(parts, with(R"([{"first": 3, "count": 4, "rows": 2, "columns": 2, "pitch": 4, "ended": true}])"),
                 "before token 9");
  expect_refused(parts, with(R"([{"first": -2, "count": 4, "rows": 2, "columns": 2}])"), "first");
  expect_refused(parts, with(R"([{"first": 2, "count": 4}, {"first": 3, "count": 1}])"), "images[1]");
  expect_refused(parts, with(R"([{"first": 2, "count": 4}])"), "tensor mm_mask");
  expect_refused(parts, with(R"([{"first": 1, "count": 1000000000000}])"), "count");
}

// Two tiles of two rows and one column: cells of a row stand in different tiles.
TEST_F(TracePictures, TilesAreReadAtTheirPlace) {
  PictureParts parts = pictured_parts();
  parts["mm_mask"] = at::zeros({kMixedTokens}, at::kLong);
  parts["mm_mask"].index_fill_(0, at::tensor({2, 3, 5, 6}, at::kLong), 1);
  PictureMetadata metadata = pictured_metadata();
  metadata["images"] = R"([{"first": 2, "count": 4, "rows": 2, "columns": 2, "pitch": 1,
                            "tile_rows": 2, "tile_columns": 1, "tile_pitch": 3}])";
  const auto trace = opened(parts, metadata);
  ASSERT_TRUE(trace.ok()) << trace.error().describe();
  const models::ImageSpan& span = (*trace)->images().front();
  EXPECT_EQ(span.token(0), 2);
  EXPECT_EQ(span.token(1), 5);
  EXPECT_EQ(span.token(2), 3);
  EXPECT_EQ(span.token(3), 6);
  EXPECT_EQ(span.cell(4), -1);
  EXPECT_EQ(span.cell(5), 1);
}

TEST_F(TracePictures, TensorsHaveTheShapesOfThePictures) {
  for (const char* name : {"image_embeds", "deepstack.0", "mm_mask"}) {
    PictureParts parts = pictured_parts();
    parts[name] = parts[name].slice(0, 0, 3).contiguous();
    expect_refused(parts, pictured_metadata(), std::string("tensor ") + name);
  }
  PictureParts parts = pictured_parts();
  parts["position_ids"] = at::zeros({4, kMixedTokens}, at::kLong);
  expect_refused(parts, pictured_metadata(), "tensor position_ids");
}

TEST_F(TracePictures, BlocksAreNumbersOfTokens) {
  PictureParts parts = pictured_parts();
  PictureMetadata metadata = pictured_metadata();
  parts["layers.0.blocks"] = at::full({kMixedTokens}, 1, at::kLong);
  expect_refused(parts, metadata, "metadata blocks: expected alone, beside the order");
  metadata["blocks"] = "within the window";
  expect_refused(parts, metadata, "expected none in a layer without a window");
  for (const char* const form : {"beside the order", "cut by the window"}) {
    metadata["blocks"] = form;
    EXPECT_TRUE(opened(parts, metadata).ok()) << form;
  }
  parts["layers.0.blocks"] = at::full({kMixedTokens}, kMixedTokens, at::kLong);
  expect_refused(parts, metadata, "expected numbers from -1 to 8, found 9");
  parts["layers.0.blocks"] = at::arange(kMixedTokens).remainder(2);
  expect_refused(parts, metadata, "others between them");
  parts["layers.0.blocks"] = at::zeros({kMixedTokens - 1}, at::kLong);
  expect_refused(parts, metadata, "layers.0.blocks");
}

}  // namespace
}  // namespace locus
