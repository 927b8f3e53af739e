// Videos as transformers reads them (tests/golden/videos/make.py): which frames, how large, when, where their cells stand
// in a text, and what three tiny models make of one.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/atomic_file.h"
#include "models/engine/loaded_model.h"
#include "models/engine/trace/recorded_trace.h"
#include "models/engine/vision.h"
#include "models/image/video.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/golden.h"
#include "tests/support/paths.h"

namespace locus {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr double kVideoTolerance = 1e-4;  // |got − want| ≤ 1e-4 · (1 + |want|), as of these families' other values

const json& expected_videos() {
  static const json all =
      json::parse(*read_file(fs::path(test::source_dir()) / "tests" / "golden" / "videos" / "expected.json", 1 << 20));
  return all;
}

image::VideoOptions options_named(const std::string& rule) {
  return image::video_options(rule == "stamps" ? image::VideoRule::kStamps : image::VideoRule::kIndex);
}

TEST(Videos, TakeTheProcessorsFrames) {
  const json& cases = expected_videos()["sampling"];
  ASSERT_GE(cases.size(), 170U);
  for (const json& each : cases) {
    SCOPED_TRACE(each.dump());
    image::VideoOptions options = options_named(each["rule"]);
    options.fps = each.value("wanted", 2.0);
    options.count = each.value("frames", std::int64_t{0});
    const auto taken = image::sampled_frames(each["total"], each["fps"], options);
    ASSERT_TRUE(taken.ok()) << taken.error().describe();
    ASSERT_EQ(taken->size(), each["count"].get<std::size_t>());
    std::int64_t sum = 0;
    for (const std::int64_t index : *taken) {
      sum += index;
    }
    EXPECT_EQ(sum, each["sum"].get<std::int64_t>());
    const auto first = each["first"].get<std::vector<std::int64_t>>();
    const auto last = each["last"].get<std::vector<std::int64_t>>();
    EXPECT_TRUE(std::equal(first.begin(), first.end(), taken->begin()));
    EXPECT_TRUE(std::equal(last.rbegin(), last.rend(), taken->rbegin()));
  }
}

TEST(Videos, HaveTheProcessorsSizes) {
  const json& cases = expected_videos()["sizes"];
  ASSERT_GE(cases.size(), 200U);
  for (const json& each : cases) {  // rule, height, width, frames, cell, least, most, height, width
    SCOPED_TRACE(each.dump());
    image::VideoOptions options = options_named(each[0]);
    options.picture.least_pixels = each[5];
    options.picture.most_pixels = each[6];
    const auto size = image::video_size({each[2], each[1]}, each[3], options, each[4]);
    ASSERT_TRUE(size.ok()) << size.error().describe();
    EXPECT_EQ(size->height, each[7].get<std::int64_t>());
    EXPECT_EQ(size->width, each[8].get<std::int64_t>());
  }
  for (const json& each : expected_videos()["capped"]) {  // rule, height, width, frames, cell, height, width
    SCOPED_TRACE(each.dump());
    image::VideoOptions options = options_named(each[0]);
    options.capped = true;
    const auto size = image::video_size({each[2], each[1]}, each[3], options, each[4]);
    const std::int64_t height = each[5];
    const std::int64_t width = each[6];
    if (each[3].get<std::int64_t>() * height * width > image::kMaxVideoPixels) {
      EXPECT_FALSE(size.ok());
      continue;
    }
    ASSERT_TRUE(size.ok()) << size.error().describe();
    EXPECT_EQ(size->height, height);
    EXPECT_EQ(size->width, width);
  }
}

TEST(Videos, HaveTheProcessorsTimes) {
  for (const json& each : expected_videos()["times"]) {
    SCOPED_TRACE(each.dump());
    const auto times = image::group_times(each["indices"].get<std::vector<std::int64_t>>(), 100, each["fps"],
                                          options_named("stamps"), 1);
    ASSERT_EQ(times.size(), each["seconds"].size());
    for (std::size_t n = 0; n < times.size(); ++n) {
      EXPECT_NEAR(times[n].seconds, each["seconds"][n].get<double>(), 1e-12);
      EXPECT_EQ(image::time_stamp(times[n].seconds), each["stamps"][n].get<std::string>());
      EXPECT_EQ(times[n].step, 0);
    }
  }
}

// Rates and numbers of frames that are asked for: what a group of Qwen2.5-VL is in seconds, and its positions t.
TEST(Videos, HaveTheModelsPositionsAtOtherRates) {
  constexpr double kTokensPerSecond = 2;  // of the tiny checkpoint
  const json& cases = expected_videos()["rates"];
  ASSERT_EQ(cases.size(), 18U);
  for (const json& each : cases) {
    SCOPED_TRACE(each.dump());
    image::VideoOptions options = image::video_options(image::VideoRule::kSeconds);
    options.fps = each.value("fps_asked", 2.0);
    options.count = each.value("num_frames", std::int64_t{0});
    const auto taken = image::sampled_frames(each["total"], each["fps"], options);
    ASSERT_TRUE(taken.ok()) << taken.error().describe();
    const auto times = image::group_times(*taken, each["total"], each["fps"], options, kTokensPerSecond);
    const auto want = each["t"].get<std::vector<std::int64_t>>();
    ASSERT_EQ(times.size(), want.size());
    for (std::size_t n = 0; n < times.size(); ++n) {
      EXPECT_EQ(times[n].step + 2, want[n]) << n;
    }
    const double seconds = each["seconds"];
    EXPECT_EQ(times.back().step,
              image::seconds_step(static_cast<std::int64_t>(times.size()) - 1, seconds, kTokensPerSecond));
  }
}

// The blocks of a text as the reader would make them: a run of one placeholder is a picture, or the frames of a video.
std::vector<models::ImageSpan> spans_of_text(const json& text) {
  constexpr std::int64_t kVideoId = 73;
  constexpr std::int64_t kImageId = 72;
  constexpr double kTokensPerSecond = 2;
  const auto ids = text["input_ids"].get<std::vector<std::int64_t>>();
  const std::string model = text["model"];
  std::vector<models::ImageSpan> spans;
  std::int64_t token = 0;
  std::int64_t video = 0;
  for (const json& part : text["parts"]) {
    const bool is_video = part[0] == "video";
    const std::int64_t rows = part[1][1].get<std::int64_t>() / 2;
    const std::int64_t columns = part[1][2].get<std::int64_t>() / 2;
    for (std::int64_t frame = 0; frame < part[1][0].get<std::int64_t>(); ++frame) {
      while (ids[static_cast<std::size_t>(token)] != (is_video ? kVideoId : kImageId)) {
        ++token;
      }
      models::ImageSpan span{token, rows * columns, rows, columns, columns};
      if (is_video) {
        const double seconds = text["seconds"][static_cast<std::size_t>(video)];
        span.video = video;
        span.frame = frame;
        span.step = model == "qwen2_vl"     ? frame
                    : model == "qwen2_5_vl" ? image::seconds_step(frame, seconds, kTokensPerSecond)
                                            : 0;
      }
      spans.push_back(span);
      token += span.count;
    }
    video += is_video ? 1 : 0;
  }
  return spans;
}

TEST(Videos, StandAtTheModelsPositions) {
  const json& cases = expected_videos()["positions"];
  ASSERT_EQ(cases.size(), 15U);
  for (const json& each : cases) {
    SCOPED_TRACE(each["model"].get<std::string>() + " " + each["parts"].dump() + each["seconds"].dump());
    const auto length = static_cast<std::int64_t>(each["input_ids"].size());
    const at::Tensor got = models::vector_positions(spans_of_text(each), length, 0);
    for (std::int64_t axis = 0; axis < 3; ++axis) {
      const auto want = each["position_ids"][static_cast<std::size_t>(axis)].get<std::vector<double>>();
      EXPECT_TRUE(at::equal(got.select(1, axis), at::tensor(at::ArrayRef<double>(want), at::kDouble))) << axis;
    }
  }
}

// Frames of a formula, as the script has them.
class FormulaFrames final : public image::FrameSource {
 public:
  FormulaFrames(std::int64_t frames, std::int64_t height, std::int64_t width)
      : frames_(frames), height_(height), width_(width) {}

  image::VideoHeader header() const override { return {static_cast<double>(frames_), 2, width_, height_, false}; }
  Result<bool> next() override { return ++at_ < frames_; }
  Result<image::Picture> frame() override {
    image::Picture picture{width_, height_, {}};
    for (std::int64_t y = 0; y < height_; ++y) {
      for (std::int64_t x = 0; x < width_; ++x) {
        for (std::int64_t c = 0; c < 3; ++c) {
          picture.rgba.push_back(
              static_cast<std::uint8_t>((37 * at_ + 53 * c + 11 * y + 7 * x + (at_ + 1) * y * x) % 256));
        }
        picture.rgba.push_back(255);
      }
    }
    return picture;
  }
  Status rewind() override {
    at_ = -1;
    return {};
  }

 private:
  std::int64_t frames_;
  std::int64_t height_;
  std::int64_t width_;
  std::int64_t at_ = -1;
};

constexpr std::array<const char*, 3> kVideoModels{"qwen2_vl", "qwen2_5_vl", "qwen3_vl"};

fs::path video_checkpoint(const std::string& name) {
  return fs::path(test::source_dir()) / "tests" / "golden" / "families-vlm" / name;
}

// Frames given as arrays, at their own size: the patches of every group, the last one filled by its last frame.
TEST(Videos, BecomeTheProcessorsPixels) {
  for (const std::string name : kVideoModels) {
    SCOPED_TRACE(name);
    const auto model = test::open_model(video_checkpoint(name), models::OpenOptions{});
    ASSERT_NE(model, nullptr);
    const models::LoadedModel* const loaded = models::loaded_model_of(*model);
    ASSERT_NE(loaded, nullptr);
    const models::Vision& vision = *loaded->checkpoint().parts().vision;
    image::VideoOptions options = loaded->checkpoint().parts().video;
    options.count = 5;
    options.rule = image::VideoRule::kStamps;  // whose step takes all five
    FormulaFrames source(5, 16, 24);
    const auto taken = image::take_frames(source, options, 8);
    ASSERT_TRUE(taken.ok()) << taken.error().describe();
    ASSERT_EQ(taken->frames.size(), 5U);
    image::Preprocessing own = options.picture;
    own.resize = false;
    own.rule = image::ResizeRule::kSize;
    std::vector<at::Tensor> rows;
    for (std::size_t first = 0; first < 5; first += 2) {
      std::vector<at::Tensor> group;
      for (const std::size_t frame : {first, std::min<std::size_t>(first + 1, 4)}) {
        const auto pixels = image::preprocess(taken->frames[frame], own, 8);
        ASSERT_TRUE(pixels.ok()) << pixels.error().describe();
        group.push_back(at::tensor(at::ArrayRef<float>(pixels->values)).view({3, pixels->height, pixels->width}));
      }
      const auto image = vision.image_of_frames(at::stack(group));
      ASSERT_TRUE(image.ok()) << image.error().describe();
      rows.push_back(image->batch.pixels[0]);
    }
    EXPECT_CLOSE(at::cat(rows), test::Golden("videos/" + name)["pixel_values_videos"], 1e-6);
  }
}

// A picture and a video of five frames in one text, from their pixels.
TEST(Videos, GiveTheReferencesPositionsMapsAndLogits) {
  for (const std::string name : kVideoModels) {
    SCOPED_TRACE(name);
    const auto model = test::open_model(video_checkpoint(name), models::OpenOptions{});
    ASSERT_NE(model, nullptr);
    const test::Golden golden("videos/" + name);
    const at::Tensor ids = golden["input_ids"].contiguous();
    models::Input input;
    input.ids = std::vector<std::int64_t>(ids.data_ptr<std::int64_t>(), ids.data_ptr<std::int64_t>() + ids.numel());
    input.pixels = fs::path(test::source_dir()) / "tests" / "golden" / "videos" / (name + ".safetensors");
    models::RunOptions options;
    options.all_logits = true;
    const auto trace = model->run(input, options);
    ASSERT_TRUE(trace.ok()) << trace.error().describe();
    const models::TraceData data = test::recorded(**trace);
    EXPECT_TRUE(at::equal(data.video_grids, golden["video_grid_thw"]));
    EXPECT_TRUE(at::equal(data.image_grids, golden["image_grid_thw"]));
    EXPECT_CLOSE(data.video_pixels, golden["pixel_values_videos"], 1e-6);
    EXPECT_TRUE(at::equal(data.position_ids.t().to(at::kLong), golden["position_ids"]));
    ASSERT_EQ(data.images.size(), 4U);  // a picture and three groups of frames
    EXPECT_EQ(data.images[0].video, -1);
    EXPECT_EQ(data.images[3].video, 0);
    EXPECT_EQ(data.images[3].frame, 2);
    EXPECT_EQ(models::picture_name(data.images, 3), "video 1, frame 2");
    for (std::size_t n = 0; n < data.layers.size(); ++n) {
      const auto map = models::whole_map(*data.layers[n].scores, attention::Quantity::kWeight);
      ASSERT_TRUE(map.ok());
      EXPECT_CLOSE(*map, golden["layers." + std::to_string(n) + ".attention"], kVideoTolerance) << n;
    }
    EXPECT_CLOSE(data.logits, golden["logits"], kVideoTolerance);
  }
}

}  // namespace
}  // namespace locus
