// Videos: which frames of a video a family's processor takes, how large it makes them, and when they are. Frames are read
// one after another, and those alone are kept that are taken, at their last size.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "models/image/image.h"
#include "models/image/resize.h"

namespace locus::image {

// How a family's processor takes frames, and what it makes of their times.
enum class VideoRule {
  kNone,     // it takes no videos
  kIndex,    // Qwen2-VL: a step rounded down; the time of a group of frames is its index
  kSeconds,  // Qwen2.5-VL: the same frames; its time is in seconds
  kStamps    // Qwen3-VL: a step rounded to the nearest frame; its time stands in the text before it
};

// Fields of video_preprocessor_config.json, or of preprocessor_config.json where that is missing.
struct VideoOptions {
  VideoRule rule = VideoRule::kNone;
  double fps = 2;                 // frames a second that are taken
  std::int64_t count = 0;         // frames that are taken whatever the length; 0: by fps
  std::int64_t least_frames = 4;  // where the video has as many
  std::int64_t most_frames = 768;
  std::int64_t group = 2;        // frames that are one patch deep together (temporal_patch_size)
  bool capped = false;           // cap_pixels_per_frame: fewer pixels in the frames of a long video
  std::int64_t most_tokens = 0;  // that the cap counts with
  Preprocessing picture;         // of each frame; its limits are of a frame (kStamps: of all frames)
};

// Parses the text of a video_preprocessor_config.json or preprocessor_config.json, or of a processor_config.json with a
// video_processor, for a family's rule. Errors: kBadInput naming field, expected, found.
Result<VideoOptions> parse_video_preprocessor(const std::string& json, const std::string& file, VideoRule rule);
// What a folder without such a file has.
VideoOptions video_options(VideoRule rule);

inline constexpr std::int64_t kMaxVideoFrames = 18'000;      // that a video may have: ten minutes at 30 frames a second
inline constexpr std::int64_t kMaxVideoPixels = 64'000'000;  // of all frames that are taken, at their last size
inline constexpr double kStandardFps = 24;                   // of a video that does not say its own

// Whether a video's own number of frames a second can be one: from 0.01 to 1000.
bool is_frame_rate(double fps);

// The frames taken of `total`, ascending, from 0; a last group that is not full is filled by its last frame when it is
// used. Errors: kBadInput for no frames.
Result<std::vector<std::int64_t>> sampled_frames(std::int64_t total, double fps, const VideoOptions& options);

// The size of each of `frames` frames in whole cells of `cell` pixels. Errors: kBadInput for frames that are too thin,
// kTooLarge for more than kMaxVideoPixels in all.
Result<Size> video_size(Size picture, std::int64_t frames, const VideoOptions& options, std::int64_t cell);

// When a group of frames is.
struct GroupTime {
  double seconds = 0;     // the mean of its first and its last frame's time
  std::int64_t step = 0;  // what the position `t` of its cells is behind that of the video's first cells
};
// Of each group of these frames. `tokens_per_second` counts for kSeconds alone; of kStamps all steps are 0.
std::vector<GroupTime> group_times(const std::vector<std::int64_t>& indices, std::int64_t total, double fps,
                                   const VideoOptions& options, double tokens_per_second);
// The step of kSeconds: seconds_per_group · tokens_per_second · group, rounded down, in the single precision of the
// definition.
std::int64_t seconds_step(std::int64_t group, double seconds_per_group, double tokens_per_second);
// "<0.3 seconds>", as it stands in the text before a group.
std::string time_stamp(double seconds);

// What a video says of itself before it is read; any of it may be wrong.
struct VideoHeader {
  double frames = 0;  // not above 0 where it does not say
  double fps = 0;
  std::int64_t width = 0;
  std::int64_t height = 0;
  bool estimated = false;  // the number of frames is made of other numbers
};

// The frames of a video, from the first one on.
class FrameSource {
 public:
  virtual ~FrameSource() = default;
  virtual VideoHeader header() const = 0;
  // Goes on to the next frame; false behind the last one that can be read.
  virtual Result<bool> next() = 0;
  // The frame that next() went to. Errors: kBadInput for one that cannot be decoded, kTooLarge.
  virtual Result<Picture> frame() = 0;
  // Before the first frame again. Errors: those of opening.
  virtual Status rewind() = 0;
};

// The frames that are taken, at their last size; `shown` of each is the frame before normalisation.
struct TakenVideo {
  std::vector<Picture> frames;
  std::vector<std::int64_t> indices;  // of each in the file
  std::int64_t total = 0;             // frames that can be read
  double fps = 0;
  std::string warning;  // one line about a header that says otherwise; empty otherwise
};
// Reads a source to its end and keeps what is taken. Where the header's number of frames is not what can be read, the
// frames are chosen of those that can be. Errors: kBadInput for no frames, kTooLarge for more than kMaxVideoFrames or
// kMaxVideoPixels; those of the source.
Result<TakenVideo> take_frames(FrameSource& source, const VideoOptions& options, std::int64_t cell);

// The same of a file: MP4, WebM, GIF or AVI. The pixels of a frame are checked before any is decoded. Errors: those,
// naming the file; kBadInput for another format; kUnsupported in a program without OpenCV's videoio (video_capture.h).
Result<TakenVideo> open_video(const std::filesystem::path& path, const VideoOptions& options, std::int64_t cell);

}  // namespace locus::image
