// Files of videos, by OpenCV's videoio and FFmpeg below it. Neither is asked about anything but a file whose first bytes are
// those of a known container: FFmpeg by itself would follow playlists and addresses.
#include <algorithm>
#include <array>
#include <fstream>
#include <mutex>
#include <opencv2/core/utils/logger.hpp>
#include <opencv2/imgproc.hpp>
#include <opencv2/videoio.hpp>
#include <string_view>
#include <utility>

#include "models/image/video.h"
#include "models/image/video_header.h"

namespace locus::image {

namespace {

constexpr std::int64_t kMaxFramePixels = 36'000'000;  // 8K and a little more

Error huge_frame(std::int64_t width, std::int64_t height) {
  return too_large("expected frames of at most " + std::to_string(kMaxFramePixels) + " pixels, found " +
                   std::to_string(width) + " × " + std::to_string(height));
}

bool is_huge(std::int64_t width, std::int64_t height) {
  return height > 0 && width > kMaxFramePixels / height;
}

// OpenCV's reports go nowhere; FFmpeg's are silenced where the engine is loaded.
void silence() {
  static std::once_flag once;
  std::call_once(once, [] { cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT); });
}

class CaptureSource final : public FrameSource {
 public:
  CaptureSource(std::filesystem::path path, bool estimated) : path_(std::move(path)), estimated_(estimated) {}

  Status open() {
    at_frame_ = false;
    if (!capture_.open(path_.string(), cv::CAP_FFMPEG)) {
      return bad_input("expected a video that can be decoded, found none, or one that is cut off");
    }
    const VideoHeader own = header();
    if (own.width < 1 || own.height < 1) {
      return bad_input("expected frames with pixels, found " + std::to_string(own.width) + " × " +
                       std::to_string(own.height));
    }
    return is_huge(own.width, own.height) ? Status(huge_frame(own.width, own.height)) : Status();
  }

  VideoHeader header() const override {
    const auto side = [this](int property) {
      const double pixels = capture_.get(property);
      return pixels >= 0 && pixels < 1e9 ? static_cast<std::int64_t>(pixels) : std::int64_t{0};
    };
    return {capture_.get(cv::CAP_PROP_FRAME_COUNT), capture_.get(cv::CAP_PROP_FPS), side(cv::CAP_PROP_FRAME_WIDTH),
            side(cv::CAP_PROP_FRAME_HEIGHT), estimated_};
  }

  Result<bool> next() override {
    at_frame_ = capture_.grab();
    return at_frame_;
  }

  Result<Picture> frame() override {
    cv::Mat bgr;
    if (!at_frame_ || !capture_.retrieve(bgr) || bgr.empty()) {
      return bad_input("damaged video: a frame cannot be decoded");
    }
    if (is_huge(bgr.cols, bgr.rows)) {
      return huge_frame(bgr.cols, bgr.rows);
    }
    if (bgr.type() != CV_8UC3) {
      return unsupported("expected frames of 8 bits in three channels, found others");
    }
    Picture picture{bgr.cols, bgr.rows, std::vector<std::uint8_t>(bgr.total() * 4)};
    cv::Mat rgba(bgr.rows, bgr.cols, CV_8UC4, picture.rgba.data());
    cv::cvtColor(bgr, rgba, cv::COLOR_BGR2RGBA);
    return picture;
  }

  Status rewind() override {
    capture_.release();
    return open();
  }

 private:
  std::filesystem::path path_;
  bool estimated_;
  bool at_frame_ = false;
  cv::VideoCapture capture_;
};

Result<std::string> first_bytes(const std::filesystem::path& path) {
  std::error_code failure;
  if (!std::filesystem::is_regular_file(path, failure)) {
    return bad_input("expected a file, found none");
  }
  std::ifstream file(path, std::ios::binary);
  std::string bytes(kVideoHeaderBytes, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file && !file.eof()) {
    return bad_input("cannot read");
  }
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

Result<TakenVideo> open(const std::filesystem::path& path, const VideoOptions& options, std::int64_t cell) {
  LOCUS_TRY(const std::string bytes, first_bytes(path));
  LOCUS_TRY(const ContainerHeader container, read_video_header(bytes));
  if (is_huge(container.width, container.height)) {
    return huge_frame(container.width, container.height);
  }
  silence();
  std::error_code failure;
  const std::filesystem::path whole = std::filesystem::absolute(path, failure);  // begins with "/": names no protocol
  if (failure) {
    return bad_input("cannot read");
  }
  try {
    CaptureSource source(whole, !container.counts_frames());
    LOCUS_CHECK(source.open());
    return take_frames(source, options, cell);
  } catch (const std::bad_alloc&) {
    return too_large("not enough memory for its frames");
  } catch (const cv::Exception& exception) {
    return bad_input("damaged video: " + exception.err);
  }
}

}  // namespace

Result<TakenVideo> open_video(const std::filesystem::path& path, const VideoOptions& options, std::int64_t cell) {
  LOCUS_TRY(TakenVideo taken, within(open(path, options, cell), path.string()));
  if (!taken.warning.empty()) {
    taken.warning = path.string() + ": " + taken.warning;
  }
  return taken;
}

}  // namespace locus::image
