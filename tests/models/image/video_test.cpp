#include "models/image/video.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>

#include "core/base/atomic_file.h"
#include "models/image/video_header.h"
#include "tests/models/text/tokens.h"
#include "tests/support/paths.h"
#include "tests/support/pictured_text.h"

namespace locus::image {
namespace {

constexpr std::int64_t kCell = 8;

VideoOptions small_frames(VideoRule rule = VideoRule::kIndex) {
  VideoOptions options = video_options(rule);
  options.picture.least_pixels = 64;
  options.picture.most_pixels = 4096;
  return options;
}

// Frames of one grey each, with a header that may lie.
class GreyFrames final : public FrameSource {
 public:
  GreyFrames(std::int64_t frames, VideoHeader header) : frames_(frames), header_(header) {}

  VideoHeader header() const override { return header_; }
  Result<bool> next() override { return ++at_ < frames_; }
  Result<Picture> frame() override {
    ++decoded;
    return Picture{16, 8, std::vector<std::uint8_t>(16 * 8 * 4, static_cast<std::uint8_t>(at_))};
  }
  Status rewind() override {
    at_ = -1;
    return {};
  }

  std::int64_t decoded = 0;

 private:
  std::int64_t frames_;
  VideoHeader header_;
  std::int64_t at_ = -1;
};

Result<TakenVideo> taken(std::int64_t frames, double said, double fps, bool estimated = false) {
  GreyFrames source(frames, {said, fps, 16, 8, estimated});
  return take_frames(source, small_frames(), kCell);
}

TEST(Video, KeepsTheFramesThatAreTakenAlone) {
  GreyFrames source(100, {100, 25, 16, 8, false});
  const auto video = take_frames(source, small_frames(), kCell);
  ASSERT_TRUE(video.ok()) << video.error().describe();
  EXPECT_EQ(video->indices, (std::vector<std::int64_t>{0, 12, 25, 37, 50, 62, 75, 87}));
  EXPECT_EQ(source.decoded, 8);
  EXPECT_EQ(video->total, 100);
  EXPECT_TRUE(video->warning.empty());
  for (std::size_t n = 0; n < video->frames.size(); ++n) {
    EXPECT_EQ(video->frames[n].width, 16);
    EXPECT_EQ(video->frames[n].rgba[0], video->indices[n]);
  }
}

TEST(Video, ChoosesOfTheFramesThatCanBeRead) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double said : {100.0, 7.0, 0.0, -5.0, nan, 1e30, -std::numeric_limits<double>::infinity()}) {
    SCOPED_TRACE(said);
    const auto video = taken(40, said, 10);
    ASSERT_TRUE(video.ok()) << video.error().describe();
    EXPECT_EQ(video->indices, (std::vector<std::int64_t>{0, 5, 10, 15, 20, 25, 30, 35}));
    EXPECT_EQ(video->total, 40);
    EXPECT_NE(video->warning.find("40 can be read"), std::string::npos) << video->warning;
    EXPECT_EQ(video->warning.find('\n'), std::string::npos);
  }
  EXPECT_TRUE(taken(40, 41, 10, true)->warning.empty());  // an estimate may be off by one
  EXPECT_TRUE(taken(40, 0, 10, true)->warning.empty());   // or missing
  EXPECT_FALSE(taken(40, 80, 10, true)->warning.empty());
}

TEST(Video, AssumesAFrameRateWhereTheHeaderHasNone) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double fps : {0.0, -25.0, nan, 1e9, std::numeric_limits<double>::infinity(), 1e-300}) {
    SCOPED_TRACE(fps);
    const auto video = taken(48, 48, fps);
    ASSERT_TRUE(video.ok()) << video.error().describe();
    EXPECT_EQ(video->fps, kStandardFps);
    EXPECT_EQ(video->indices, (std::vector<std::int64_t>{0, 12, 24, 36}));
    EXPECT_NE(video->warning.find("24 are assumed"), std::string::npos) << video->warning;
  }
}

TEST(Video, RefusesNoFramesAndTooManyByNumber) {
  for (const double said : {0.0, 64.0}) {
    const auto none = taken(0, said, 25);
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.error().code, ErrorCode::kBadInput);
    EXPECT_NE(none.error().message.find("found none"), std::string::npos);
  }
  const auto many = taken(kMaxVideoFrames + 1, 64, 25);
  ASSERT_FALSE(many.ok());
  EXPECT_EQ(many.error().code, ErrorCode::kTooLarge);
  VideoOptions wide = small_frames();
  wide.picture.most_pixels = std::int64_t{1} << 40;
  const auto pixels = video_size({8000, 4000}, 4, wide, kCell);
  ASSERT_FALSE(pixels.ok());
  EXPECT_EQ(pixels.error().code, ErrorCode::kTooLarge);
  wide.capped = true;  // by the largest numbers that a processor's file may have, and the largest cells
  wide.most_tokens = std::int64_t{1} << 24;
  wide.group = 16;
  EXPECT_EQ(video_size({8000, 4000}, 1, wide, std::int64_t{1} << 18).error().code, ErrorCode::kTooLarge);
  EXPECT_FALSE(video_size({0, 4}, 4, wide, kCell).ok());
  EXPECT_FALSE(video_size({4000, 4}, 4, wide, kCell).ok());  // too thin
}

TEST(Video, TakesShortVideosWhole) {
  EXPECT_EQ(*sampled_frames(1, 25, small_frames()), (std::vector<std::int64_t>{0}));
  EXPECT_EQ(*sampled_frames(1, 25, small_frames(VideoRule::kStamps)), (std::vector<std::int64_t>{0}));
  EXPECT_EQ(*sampled_frames(2, 25, small_frames()), (std::vector<std::int64_t>{0, 1}));
  EXPECT_FALSE(sampled_frames(0, 25, small_frames()).ok());
  const auto times = group_times({0}, 1, 25, small_frames(VideoRule::kStamps), 1);
  ASSERT_EQ(times.size(), 1U);
  EXPECT_EQ(times[0].seconds, 0);
}

// Of 250 frames at 25 a second two a second are taken: a group is one second long, and two positions of Qwen2.5-VL.
TEST(Video, CountsTimesInGroupsOrInSeconds) {
  const VideoOptions seconds = small_frames(VideoRule::kSeconds);
  const auto indices = sampled_frames(250, 25, seconds);
  ASSERT_TRUE(indices.ok());
  ASSERT_EQ(indices->size(), 20U);
  const auto in_seconds = group_times(*indices, 250, 25, seconds, 2);
  const auto in_groups = group_times(*indices, 250, 25, small_frames(), 2);
  ASSERT_EQ(in_seconds.size(), 10U);
  for (std::size_t n = 0; n < in_seconds.size(); ++n) {
    EXPECT_EQ(in_seconds[n].step, static_cast<std::int64_t>(2 * n));
    EXPECT_EQ(in_groups[n].step, static_cast<std::int64_t>(n));
    EXPECT_NEAR(in_seconds[n].seconds, static_cast<double>(n) + 0.24, 0.03);  // frames 25n and 25n + 12
  }
  EXPECT_EQ(seconds_step(3, 0.3, 2), 1);  // 1.8, rounded down
}

TEST(Video, ReadsTheProcessorsFields) {
  const auto options = parse_video_preprocessor(
      R"({"size": {"shortest_edge": 4096, "longest_edge": 25165824}, "fps": 4, "min_frames": 2, "max_frames": 32,
          "temporal_patch_size": 2, "image_mean": [0.5, 0.5, 0.5], "cap_pixels_per_frame": true, "num_frames": null})",
      "video_preprocessor_config.json", VideoRule::kStamps);
  ASSERT_TRUE(options.ok()) << options.error().describe();
  EXPECT_EQ(options->fps, 4);
  EXPECT_EQ(options->least_frames, 2);
  EXPECT_EQ(options->most_frames, 32);
  EXPECT_EQ(options->picture.least_pixels, 4096);
  EXPECT_EQ(options->picture.most_pixels, 25165824);
  EXPECT_EQ(options->count, 0);
  EXPECT_TRUE(options->capped);
  const auto old = parse_video_preprocessor(R"({"min_pixels": 3136, "max_pixels": 12845056})", "p", VideoRule::kIndex);
  ASSERT_TRUE(old.ok()) << old.error().describe();
  EXPECT_EQ(old->picture.least_pixels, 3136);
  EXPECT_EQ(old->picture.most_pixels, 12845056);
  for (const char* const wrong :
       {R"({"fps": 0})", R"({"fps": "two"})", R"({"fps": 1e9})", R"({"max_frames": 0})", R"({"max_frames": 1000000})",
        R"({"temporal_patch_size": 0})", R"({"size": {"shortest_edge": 9, "longest_edge": 4}})", R"([])", "{"}) {
    const auto refused = parse_video_preprocessor(wrong, "FILE", VideoRule::kStamps);
    ASSERT_FALSE(refused.ok()) << wrong;
    EXPECT_NE(refused.error().describe().find("FILE"), std::string::npos) << refused.error().describe();
  }
}

class VideoFile {
 public:
  explicit VideoFile(const std::string& name) : path(folder_.path() / name) {}
  Result<TakenVideo> open_bytes(const std::string& bytes) const {
    std::ofstream(path, std::ios::binary) << bytes;
    return open_video(path, small_frames(), kCell);
  }

 private:
  text::TestFolder folder_{"video"};

 public:
  const std::filesystem::path path;
};

// Refused or bounded: an error in one line that names the file, or frames of one size with a warning in one line.
void expect_bounded(const Result<TakenVideo>& video, const std::filesystem::path& path) {
  if (!video.ok()) {
    EXPECT_EQ(video.error().describe().find('\n'), std::string::npos);
    EXPECT_NE(video.error().describe().find(path.string()), std::string::npos) << video.error().describe();
    return;
  }
  ASSERT_FALSE(video->frames.empty());
  EXPECT_LE(video->total, kMaxVideoFrames);
  EXPECT_EQ(video->frames.size(), video->indices.size());
  EXPECT_LT(video->indices.back(), video->total);
  EXPECT_EQ(video->warning.find('\n'), std::string::npos);
  EXPECT_TRUE(video->warning.empty() || video->warning.starts_with(path.string()));
}

#define SKIP_WITHOUT_VIDEOS()                                                             \
  if (const auto probe = VideoFile("probe.gif").open_bytes(test::grey_gif(2, 16, 8, 10)); \
      !probe.ok() && probe.error().code == ErrorCode::kUnsupported) {                     \
    GTEST_SKIP() << probe.error().describe();                                             \
  }

TEST(Video, ReadsEveryFrameOfAGif) {
  SKIP_WITHOUT_VIDEOS();
  const VideoFile file("frames.gif");
  const auto video = file.open_bytes(test::grey_gif(12, 24, 16, 20));
  ASSERT_TRUE(video.ok()) << video.error().describe();
  EXPECT_EQ(video->total, 12);
  EXPECT_NEAR(video->fps, 5, 1e-9);
  EXPECT_EQ(video->indices, (std::vector<std::int64_t>{0, 3, 6, 9}));
  for (std::size_t n = 0; n < video->frames.size(); ++n) {
    EXPECT_EQ(video->frames[n].width, 24);
    EXPECT_EQ(video->frames[n].height, 16);
    EXPECT_NEAR(video->frames[n].rgba[4 * 100], 2 * static_cast<double>(video->indices[n]), 3);  // through YUV and back
  }
}

TEST(Video, RefusesOrBoundsDamagedGifs) {
  SKIP_WITHOUT_VIDEOS();
  const VideoFile file("frames.gif");
  const std::string whole = test::grey_gif(12, 24, 16, 20);
  for (std::size_t size = 0; size < whole.size(); size += 97) {
    SCOPED_TRACE(size);
    expect_bounded(file.open_bytes(whole.substr(0, size)), file.path);
  }
  EXPECT_FALSE(file.open_bytes(test::grey_gif(0, 24, 16, 20)).ok());
  EXPECT_EQ(file.open_bytes(test::grey_gif(1, 24, 16, 0))->frames.size(), 1U);
  std::string huge = whole;
  huge.replace(6, 4, "\xFF\xFF\xFF\xFF");
  const auto refused = file.open_bytes(huge);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kTooLarge);
  EXPECT_NE(refused.error().describe().find("65535"), std::string::npos);
}

TEST(Video, RefusesWhatIsNoVideo) {
  SKIP_WITHOUT_VIDEOS();
  const VideoFile file("video.mp4");
  for (const std::string& bytes : {std::string(), std::string("#EXTM3U\n#EXT-X-VERSION:3\nhttp://example.org/a.ts\n"),
                                   std::string("ffconcat version 1.0\nfile 'other.mp4'\n"),
                                   std::string("\0\0\0\x18"
                                               "ftypmp42",
                                               12),
                                   std::string("\x1A\x45\xDF\xA3", 4), std::string(200, 'x')}) {
    const auto refused = file.open_bytes(bytes);
    ASSERT_FALSE(refused.ok());
    expect_bounded(refused, file.path);
  }
  EXPECT_FALSE(open_video(file.path.parent_path(), small_frames(), kCell).ok());
  EXPECT_FALSE(open_video(file.path.parent_path() / "none.mp4", small_frames(), kCell).ok());
}

// Fifty frames of 64 × 48 pixels, 25 a second, frame n of level 4n: Motion JPEG, MPEG-4 and VP8, as OpenCV writes them.
std::filesystem::path stored_video(const std::string& name) {
  return std::filesystem::path(test::source_dir()) / "tests" / "models" / "image" / name;
}

std::string bytes_of(const std::filesystem::path& file) {
  return *read_file(file, std::size_t{64} << 20);
}

void put32(std::string& bytes, std::size_t at, std::uint32_t value) {
  for (std::size_t n = 0; n < 4; ++n) {
    bytes[at + n] = static_cast<char>(value >> (8 * n));
  }
}

TEST(Video, ReadsTheFormatsThatAreNamed) {
  SKIP_WITHOUT_VIDEOS();
  for (const char* const name : {"video.avi", "video.mp4", "video.webm"}) {
    SCOPED_TRACE(name);
    const VideoFile file(name);
    std::filesystem::copy_file(stored_video(name), file.path);
    const auto start = std::chrono::steady_clock::now();
    const auto video = open_video(file.path, small_frames(), kCell);
    ASSERT_TRUE(video.ok()) << video.error().describe();
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
    EXPECT_EQ(video->total, 50);
    EXPECT_NEAR(video->fps, 25, 0.1);
    EXPECT_TRUE(video->warning.empty()) << video->warning;
    EXPECT_EQ(video->indices, (std::vector<std::int64_t>{0, 12, 25, 37}));
    for (std::size_t n = 0; n < video->frames.size(); ++n) {
      EXPECT_NEAR(video->frames[n].rgba[4 * 1000], 4 * static_cast<double>(video->indices[n]),
                  8);  // the codecs lose some levels
    }
    const std::string whole = bytes_of(file.path);
    for (const double part : {0.02, 0.3, 0.5, 0.9, 0.99}) {
      const auto size = static_cast<std::size_t>(part * static_cast<double>(whole.size()));
      expect_bounded(file.open_bytes(whole.substr(0, size)), file.path);
    }
  }
}

TEST(Video, DoesNotBelieveTheHeaderOfAnAvi) {
  SKIP_WITHOUT_VIDEOS();
  const VideoFile file("video.avi");
  std::filesystem::copy_file(stored_video("video.avi"), file.path);
  const std::string whole = bytes_of(file.path);
  const std::size_t stream = whole.find("strh") + 8;
  const std::size_t format = whole.find("strf") + 8;
  for (const std::uint32_t frames : {0U, 5U, 1000U, 0xFFFFFFFFU}) {
    std::string bytes = whole;
    put32(bytes, 48, frames);
    put32(bytes, stream + 32, frames);
    const auto video = file.open_bytes(bytes);
    expect_bounded(video, file.path);
    ASSERT_TRUE(video.ok());
    EXPECT_LE(video->total, 50);
    EXPECT_FALSE(video->warning.empty());
  }
  for (const auto& [rate, scale] : {std::pair{0U, 1U}, std::pair{25U, 0U}, std::pair{1000000000U, 1U},
                                    std::pair{1U, 0xFFFFFFFFU}, std::pair{0xFFFFFFFFU, 0xFFFFFFFFU}}) {
    std::string bytes = whole;
    put32(bytes, 32, 0);
    put32(bytes, stream + 20, scale);
    put32(bytes, stream + 24, rate);
    const auto video = file.open_bytes(bytes);
    expect_bounded(video, file.path);
    EXPECT_TRUE(!video.ok() || is_frame_rate(video->fps));
  }
  for (const auto& [width, height] : {std::pair{0U, 48U}, std::pair{60000U, 60000U}, std::pair{0xFFFFFFFFU, 1U},
                                      std::pair{64U, 1000000U}, std::pair{640U, 480U}}) {
    std::string bytes = whole;
    put32(bytes, 64, width);
    put32(bytes, 68, height);
    put32(bytes, format + 4, width);
    put32(bytes, format + 8, height);
    expect_bounded(file.open_bytes(bytes), file.path);
  }
}

}  // namespace
}  // namespace locus::image
