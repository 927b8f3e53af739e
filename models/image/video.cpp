#include "models/image/video.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <future>
#include <optional>
#include <utility>

#include "core/base/numbers.h"

namespace locus::image {

namespace {

constexpr double kThinnestFrame = 200;
constexpr int kDigits = 15;

// The whole number nearest to x, halves to even.
std::int64_t nearest(double x) {
  const double below = std::floor(x);
  const double part = x - below;
  const bool up = part > 0.5 || (part == 0.5 && std::fmod(below, 2) != 0);
  return static_cast<std::int64_t>(below) + (up ? 1 : 0);
}

std::int64_t whole_groups(double frames, std::int64_t group) {
  return static_cast<std::int64_t>(std::floor(frames / static_cast<double>(group))) * group;
}

// 0, total/count, 2·total/count … below total: in single precision, of which the whole part counts. The number of steps
// follows from the step, so that rounding may add one.
std::vector<std::int64_t> stepped(std::int64_t total, std::int64_t count) {
  const auto end = static_cast<double>(total);
  const double step = end / static_cast<double>(count);
  const auto steps = static_cast<std::int64_t>(std::ceil(end / step));
  std::vector<std::int64_t> indices;
  for (std::int64_t n = 0; n < steps; ++n) {
    const auto at = static_cast<std::int64_t>(static_cast<float>(step * static_cast<double>(n)));
    indices.push_back(std::min(at, total - 1));
  }
  return indices;
}

// From the first frame to the last one, each at the nearest frame.
std::vector<std::int64_t> spread(std::int64_t total, std::int64_t count) {
  const auto last = static_cast<double>(total - 1);
  const double step = count > 1 ? last / static_cast<double>(count - 1) : 0;
  std::vector<std::int64_t> indices;
  indices.reserve(static_cast<std::size_t>(count));
  for (std::int64_t n = 0; n < count; ++n) {
    indices.push_back(n > 0 && n + 1 == count ? total - 1 : nearest(step * static_cast<double>(n)));
  }
  return indices;
}

// Fewer pixels by the processor's cap on the tokens of a video.
std::int64_t most_pixels(std::int64_t frames, const VideoOptions& options, std::int64_t cell) {
  const std::int64_t most = options.picture.most_pixels;
  if (!options.capped) {
    return most;
  }
  const auto floor_pixels = static_cast<std::int64_t>(static_cast<double>(options.picture.least_pixels) * 1.05);
  if (options.rule == VideoRule::kStamps) {
    return std::max(std::min(options.most_tokens * cell * cell, most / frames), floor_pixels) * frames;
  }
  // More than that many, a group of frames has no number of; shared among all frames they are above `most` all the same.
  constexpr std::int64_t kPlenty = std::int64_t{1} << 58;
  const auto all =
      std::min(static_cast<std::int64_t>(static_cast<double>(options.most_tokens * cell * cell) * 0.9), kPlenty);
  return std::max(std::min(most, all * options.group / frames), floor_pixels);
}

// Qwen3-VL's: the pixels of all frames together lie between the limits.
Result<Size> stamped_size(Size picture, std::int64_t count, const VideoOptions& options, std::int64_t cell) {
  const auto unit = static_cast<double>(cell);
  const std::int64_t frames = std::max(count, options.group);
  auto height = static_cast<double>(picture.height);
  auto width = static_cast<double>(picture.width);
  if (picture.height < cell || picture.width < cell) {
    const double scale = std::max(unit / height, unit / width);
    height = std::floor(height * scale);
    width = std::floor(width * scale);
  }
  if (std::max(height, width) / std::min(height, width) > kThinnestFrame) {
    return bad_input("expected sides that differ by a factor of at most 200, found " + std::to_string(picture.width) +
                     " × " + std::to_string(picture.height));
  }
  const auto all = static_cast<double>(frames);
  const auto groups = static_cast<double>(options.group);
  const auto most = static_cast<double>(most_pixels(frames, options, cell));
  const auto least = static_cast<double>(options.picture.least_pixels);
  double rows = static_cast<double>(nearest(height / unit)) * unit;
  double columns = static_cast<double>(nearest(width / unit)) * unit;
  const double pixels = static_cast<double>(nearest(all / groups)) * groups * rows * columns;
  if (pixels > most) {
    const double part = std::sqrt(all * height * width / most);
    rows = std::max(unit, std::floor(height / part / unit) * unit);
    columns = std::max(unit, std::floor(width / part / unit) * unit);
  } else if (pixels < least) {
    const double part = std::sqrt(least / (all * height * width));
    rows = std::ceil(height * part / unit) * unit;
    columns = std::ceil(width * part / unit) * unit;
  }
  return Size{static_cast<std::int64_t>(columns), static_cast<std::int64_t>(rows)};
}

std::string size_of(Size size) {
  return std::to_string(size.width) + " × " + std::to_string(size.height);
}

Status check_pixels(Size size, std::int64_t frames) {
  if (size.width > kMaxVideoPixels / size.height || frames > kMaxVideoPixels / (size.width * size.height)) {
    return too_large("expected at most " + std::to_string(kMaxVideoPixels) + " pixels in all frames, found " +
                     std::to_string(frames) + " frames of " + size_of(size));
  }
  return {};
}

}  // namespace

VideoOptions video_options(VideoRule rule) {
  VideoOptions options;
  options.rule = rule;
  options.picture.rule = ResizeRule::kPixels;
  options.picture.interpolation = Interpolation::kBicubic;
  if (rule == VideoRule::kStamps) {
    options.picture.least_pixels = std::int64_t{128} * 32 * 32;
    options.picture.most_pixels = std::int64_t{768} * 32 * 32;
    options.most_tokens = 768;
  } else {
    options.picture.least_pixels = std::int64_t{128} * 28 * 28;
    options.picture.most_pixels = std::int64_t{768} * 28 * 28;
    options.most_tokens = 128'000;
    options.picture.mean = {0.48145466, 0.4578275, 0.40821073};
    options.picture.deviation = {0.26862954, 0.26130258, 0.27577711};
  }
  return options;
}

bool is_frame_rate(double fps) {
  constexpr double kSlowest = 0.01;
  constexpr double kFastest = 1000;
  return std::isfinite(fps) && fps >= kSlowest && fps <= kFastest;
}

Result<std::vector<std::int64_t>> sampled_frames(std::int64_t total, double fps, const VideoOptions& options) {
  if (total < 1) {
    return bad_input("expected a video with frames, found none");
  }
  const double own = is_frame_rate(fps) ? fps : kStandardFps;
  const auto all = static_cast<double>(total);
  if (options.rule == VideoRule::kStamps) {
    std::int64_t count = options.count;
    if (count == 0) {
      count = static_cast<std::int64_t>(std::min(all / own * options.fps, all));
      count = std::min(std::max(count, options.least_frames), options.most_frames);
    }
    return spread(total, std::clamp<std::int64_t>(count, 1, total));
  }
  std::int64_t count = 0;
  if (options.count > 0) {
    count = nearest(static_cast<double>(options.count) / static_cast<double>(options.group)) * options.group;
  } else {
    const std::int64_t most = std::min(options.most_frames, total) / options.group * options.group;
    const double wanted = std::max(all / own * options.fps, static_cast<double>(options.least_frames));
    count = whole_groups(std::min({wanted, static_cast<double>(most), all}), options.group);
  }
  // Fewer frames than a group: each of them, once.
  return stepped(total, count < 1 ? std::min(total, options.group) : std::min(count, total));
}

Result<Size> video_size(Size picture, std::int64_t frames, const VideoOptions& options, std::int64_t cell) {
  if (picture.width < 1 || picture.height < 1 || frames < 1 || cell < 1) {
    return bad_input("expected frames with pixels, found " + size_of(picture));
  }
  Size size;
  if (options.rule == VideoRule::kStamps) {
    LOCUS_TRY(size, stamped_size(picture, frames, options, cell));
  } else {
    Preprocessing own = options.picture;
    own.most_pixels = most_pixels(frames, options, cell);
    LOCUS_TRY(size, size_by_rule(picture, own, cell));
  }
  size = {std::max(size.width, cell), std::max(size.height, cell)};
  LOCUS_CHECK(check_pixels(size, frames));
  return size;
}

std::int64_t seconds_step(std::int64_t group, double seconds_per_group, double tokens_per_second) {
  const float interval = static_cast<float>(tokens_per_second) * static_cast<float>(seconds_per_group);
  return static_cast<std::int64_t>(static_cast<float>(group) * interval);
}

std::vector<GroupTime> group_times(const std::vector<std::int64_t>& indices, std::int64_t total, double fps,
                                   const VideoOptions& options, double tokens_per_second) {
  const double own = is_frame_rate(fps) ? fps : kStandardFps;
  const auto count = static_cast<std::int64_t>(indices.size());
  const double taken_fps = static_cast<double>(count) / static_cast<double>(std::max<std::int64_t>(total, 1)) * own;
  const double seconds_per_group = static_cast<double>(options.group) / taken_fps;
  const auto time = [&](std::int64_t n) {
    return static_cast<double>(indices[static_cast<std::size_t>(std::min(n, count - 1))]) / own;
  };
  std::vector<GroupTime> times;
  for (std::int64_t first = 0; first < count; first += options.group) {
    const std::int64_t group = first / options.group;
    GroupTime own_time{(time(first) + time(first + options.group - 1)) / 2, 0};
    if (options.rule == VideoRule::kIndex) {
      own_time.step = group;
    } else if (options.rule == VideoRule::kSeconds) {
      own_time.step = seconds_step(group, seconds_per_group, tokens_per_second);
    }
    times.push_back(own_time);
  }
  return times;
}

std::string time_stamp(double seconds) {
  return "<" + fixed_text(seconds, 1) + " seconds>";
}

namespace {

// Frames that the header says, where it can be so many.
std::int64_t said_frames(const VideoHeader& header) {
  const bool can_be =
      std::isfinite(header.frames) && header.frames >= 1 && header.frames <= static_cast<double>(kMaxVideoFrames);
  return can_be ? static_cast<std::int64_t>(header.frames) : 0;
}

struct Pass {
  std::vector<Picture> frames;
  std::int64_t read = 0;
};

// Frames at their last size, in their order: some are resampled while the next one is decoded, where there are threads
// for it.
class ResizedFrames {
 public:
  ResizedFrames(const VideoOptions& options, Size size) : interpolation_(options.picture.interpolation), size_(size) {}

  // `times` copies of the frame.
  void add(Picture frame, std::size_t times) {
    constexpr std::size_t kMaxResampled = 2;  // at once: resampling takes longer than decoding
    const bool done = frame.width == size_.width && frame.height == size_.height;
    while (!resampling_.empty() && (done || resampling_.size() >= kMaxResampled)) {
      finish_first();
    }
    if (done) {
      keep(std::move(frame), times);
      return;
    }
    resampling_.emplace_back(std::async(std::launch::async | std::launch::deferred,
                                        [frame = std::move(frame), size = size_, how = interpolation_] {
                                          return resample(frame, size.width, size.height, how);
                                        }),
                             times);
  }
  std::vector<Picture> take() {
    while (!resampling_.empty()) {
      finish_first();
    }
    return std::move(frames_);
  }

 private:
  void finish_first() {
    auto [frame, times] = std::move(resampling_.front());
    resampling_.pop_front();
    keep(frame.get(), times);
  }
  void keep(Picture frame, std::size_t times) {
    frames_.insert(frames_.end(), times - 1, frame);
    frames_.push_back(std::move(frame));
  }

  Interpolation interpolation_;
  Size size_;
  std::vector<Picture> frames_;
  std::deque<std::pair<std::future<Picture>, std::size_t>> resampling_;  // each with its times
};

// Goes to the end and keeps the frames of `indices`.
Result<Pass> read_pass(FrameSource& source, const std::vector<std::int64_t>& indices, const VideoOptions& options,
                       std::int64_t cell) {
  Pass pass;
  const auto count = static_cast<std::int64_t>(indices.size());
  std::optional<ResizedFrames> frames;
  std::size_t wanted = 0;
  while (true) {
    LOCUS_TRY(const bool more, source.next());
    if (!more) {
      pass.frames = frames ? frames->take() : std::vector<Picture>();
      return pass;
    }
    if (pass.read == kMaxVideoFrames) {
      return too_large("expected a video of at most " + std::to_string(kMaxVideoFrames) + " frames, found more");
    }
    if (wanted < indices.size() && indices[wanted] == pass.read) {
      LOCUS_TRY(Picture picture, source.frame());
      const bool whole = picture.width > 0 && picture.height > 0 &&
                         picture.rgba.size() == static_cast<std::size_t>(4 * picture.width * picture.height);
      if (!whole) {
        return bad_input("expected frames with pixels, found " + size_of({picture.width, picture.height}));
      }
      if (!frames) {
        Size size{picture.width, picture.height};
        if (options.picture.resize) {
          LOCUS_TRY(size, video_size(size, count, options, cell));
        }
        LOCUS_CHECK(check_pixels(size, count));
        frames.emplace(options, size);
      }
      // A step of less than a frame takes one twice.
      std::size_t times = 1;
      for (++wanted; wanted < indices.size() && indices[wanted] == pass.read; ++wanted) {
        ++times;
      }
      frames->add(std::move(picture), times);
    }
    ++pass.read;
  }
}

}  // namespace

Result<TakenVideo> take_frames(FrameSource& source, const VideoOptions& options, std::int64_t cell) {
  const VideoHeader header = source.header();
  TakenVideo taken;
  taken.fps = is_frame_rate(header.fps) ? header.fps : kStandardFps;
  const std::int64_t said = said_frames(header);
  if (said > 0) {
    LOCUS_TRY(taken.indices, sampled_frames(said, taken.fps, options));
  }
  LOCUS_TRY(Pass pass, read_pass(source, taken.indices, options, cell));
  if (pass.read == 0) {
    return bad_input("expected a video with frames, found none that can be read");
  }
  if (pass.read != said) {
    const std::int64_t found = pass.read;
    LOCUS_TRY(taken.indices, sampled_frames(found, taken.fps, options));
    pass = {};
    LOCUS_CHECK(source.rewind());
    LOCUS_TRY(pass, read_pass(source, taken.indices, options, cell));
    if (pass.read != found) {
      return bad_input("expected " + std::to_string(found) + " frames as before, found " + std::to_string(pass.read));
    }
    // An estimate may be off by rounding and by the length of the sound.
    const std::int64_t slack = header.estimated ? 2 + found / 20 : 0;
    if (!(said > 0 && std::abs(said - found) <= slack) && !(header.estimated && said == 0)) {
      taken.warning = "the header says " + general_text(header.frames, kDigits) + " frames, " + std::to_string(found) +
                      " can be read: frames are chosen of these";
    }
  }
  if (!is_frame_rate(header.fps)) {
    taken.warning += std::string(taken.warning.empty() ? "" : "; ") + "the header says " +
                     general_text(header.fps, kDigits) + " frames a second: 24 are assumed";
  }
  taken.frames = std::move(pass.frames);
  taken.total = pass.read;
  return taken;
}

}  // namespace locus::image
