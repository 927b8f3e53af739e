// Damaged files of processors: each is read, or refused by name, and what is read gives sizes within the limits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "models/image/image.h"
#include "models/image/video.h"
#include "tests/fuzz/mutate.h"

namespace locus::image {
namespace {

constexpr int kCopies = 150;  // of each file
constexpr const char* kDamagedFile = "processor_config.json";
constexpr std::int64_t kDamagedCell = 28;

// A file of each rule, as it is published, with the fields that the rule reads; the first two in the form of
// transformers 5.
const std::vector<std::string> kProcessorFiles{
    R"({"image_processor": {"image_processor_type": "Qwen2VLImageProcessorFast", "min_pixels": 3136, "patch_size": 14,
        "size": {"shortest_edge": 3136, "longest_edge": 1003520}, "resample": 3, "temporal_patch_size": 2},
        "video_processor": {"size": {"shortest_edge": 4096, "longest_edge": 25165824}, "fps": 2, "min_frames": 4,
        "max_frames": 768, "temporal_patch_size": 2, "cap_pixels_per_frame": true, "max_video_tokens": 768}})",
    R"({"image_processor": {"image_processor_type": "Glm46VImageProcessor", "temporal_patch_size": 2,
        "size": {"shortest_edge": 12544, "longest_edge": 9633792}}, "video_processor": {"num_frames": 16, "fps": 2.0,
        "min_pixels": 3136, "max_pixels": 1003520, "image_mean": 0.5, "image_std": [0.5, 0.5, 0.5]}})",
    R"({"image_processor_type": "PixtralImageProcessor", "size": {"longest_edge": 64}, "do_normalize": false})",
    R"({"image_processor_type": "Siglip2ImageProcessor", "max_num_patches": 16, "image_mean": [0.5, 0.5, 0.5]})",
    R"({"image_processor_type": "SmolVLMImageProcessor", "size": {"longest_edge": 96}, "do_image_splitting": true,
        "max_image_size": {"longest_edge": 32}, "resample": 1})",
    R"({"image_processor_type": "LlavaNextImageProcessor", "size": {"shortest_edge": 28}, "do_center_crop": true,
        "crop_size": {"height": 28, "width": 28}, "image_grid_pinpoints": [[28, 56], [56, 28], [56, 56]]})",
    R"({"image_processor_type": "GotOcr2ImageProcessor", "size": {"height": 28, "width": 56}, "crop_to_patches": true,
        "min_patches": 2, "max_patches": 6})",
    R"({"image_processor_type": "DeepseekVLImageProcessor", "size": {"height": 56, "width": 56}, "min_size": 14,
        "do_pad": true, "image_mean": [0.5, 0.5, 0.5], "rescale_factor": 0.00392156862745098})",
    R"({"image_processor_type": "CLIPImageProcessor", "size": {"shortest_edge": 56}, "do_center_crop": true,
        "crop_size": 56, "do_convert_rgb": true, "image_std": [0.25, 0.25, 0.25]})",
    R"({"architecture": "vit", "pretrained_cfg": {"input_size": [3, 56, 56], "crop_pct": 0.9, "crop_mode": "center",
        "interpolation": "bicubic", "mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5]}})",
};

void expect_refused_by_name(const Error& error, const std::string& json) {
  const std::string text = error.describe();
  EXPECT_TRUE(error.code == ErrorCode::kBadInput || error.code == ErrorCode::kUnsupported) << text << "\n" << json;
  EXPECT_TRUE(text.starts_with(kDamagedFile) && text.size() < 2000 && text.find('\n') == std::string::npos)
      << text << "\n"
      << json;
}

// Whether the picture is made in little time: files may ask for large ones.
bool is_small(const Preprocessing& options, double width, double height) {
  constexpr double kSmall = 1 << 17;
  return width * height <= kSmall && std::max(options.crop_width * options.crop_height, options.tile * options.tile) <
                                         static_cast<std::int64_t>(kSmall);
}

void expect_pictures(const Preprocessing& options, const std::string& json) {
  for (const auto& [width, height] : {std::pair<std::int64_t, std::int64_t>{60, 40}, {1, 1}, {3, 4000}, {9000, 9000}}) {
    const auto size = patch_size(width, height, options, kDamagedCell);
    const auto grid = patch_grid(width, height, options, kDamagedCell, kDamagedCell);
    if (!size.ok()) {
      continue;
    }
    EXPECT_TRUE(std::isfinite(size->width) && std::isfinite(size->height) && size->width > 0 && size->height > 0)
        << json;
    EXPECT_TRUE(!grid.ok() || (std::isfinite(grid->x0) && grid->dx > 0 && std::isfinite(grid->y0) && grid->dy > 0))
        << json;
    const auto unit = static_cast<double>(kDamagedCell);
    if (width > 60 || !is_small(options, unit * static_cast<double>(width) / size->width,
                                unit * static_cast<double>(height) / size->height)) {
      continue;
    }
    const Picture picture{width, height, std::vector<std::uint8_t>(static_cast<std::size_t>(4 * width * height), 90)};
    const auto all = preprocess_all(picture, options, kDamagedCell);
    for (std::size_t n = 0; all.ok() && n < all->size(); ++n) {
      const Pixels& pixels = all->at(n);
      EXPECT_GT(pixels.width * pixels.height, 0) << json;
      EXPECT_EQ(pixels.values.size(), static_cast<std::size_t>(3 * pixels.width * pixels.height)) << json;
    }
  }
}

void expect_frames(const VideoOptions& options, const std::string& json) {
  for (const std::int64_t total : {std::int64_t{1}, std::int64_t{50}, kMaxVideoFrames}) {
    const auto taken = sampled_frames(total, 25, options);
    ASSERT_TRUE(taken.ok()) << json;
    ASSERT_FALSE(taken->empty()) << json;
    EXPECT_TRUE(std::is_sorted(taken->begin(), taken->end()) && taken->front() >= 0 && taken->back() < total) << json;
    const auto frames = static_cast<std::int64_t>(taken->size());
    const auto size = video_size({64, 48}, frames, options, kDamagedCell);
    if (size.ok()) {
      EXPECT_TRUE(size->width >= kDamagedCell && size->height >= kDamagedCell &&
                  size->width <= kMaxVideoPixels / size->height / frames)
          << json;
    }
  }
}

TEST(DamagedProcessors, AreReadOrRefusedByName) {
  int read = 0;
  int refused = 0;
  for (const std::string& whole : kProcessorFiles) {
    ASSERT_TRUE(parse_preprocessor(whole, kDamagedFile).ok()) << whole;
    for (int copy = 0; copy < kCopies; ++copy) {
      const std::string json = fuzz::Mutator(static_cast<std::uint64_t>(copy)).damaged(whole, fuzz::Form::kJson);
      const auto options = parse_preprocessor(json, kDamagedFile);
      options.ok() ? ++read : ++refused;
      options.ok() ? expect_pictures(*options, json) : expect_refused_by_name(options.error(), json);
      for (const VideoRule rule : {VideoRule::kIndex, VideoRule::kSeconds, VideoRule::kStamps}) {
        const auto video = parse_video_preprocessor(json, kDamagedFile, rule);
        video.ok() ? expect_frames(*video, json) : expect_refused_by_name(video.error(), json);
      }
      if (HasFailure()) {
        return;  // the first file says it
      }
    }
  }
  EXPECT_GT(read, 300);
  EXPECT_GT(refused, 300);
}

}  // namespace
}  // namespace locus::image
