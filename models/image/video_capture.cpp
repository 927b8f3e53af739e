#include "models/image/video_capture.h"

#include <mutex>
#include <new>
#include <opencv2/core/utils/logger.hpp>
#include <opencv2/imgproc.hpp>
#include <opencv2/videoio.hpp>
#include <utility>

namespace locus::image {

namespace {

// OpenCV's reports go nowhere; FFmpeg's are silenced where the engine is loaded.
void silence() {
  static std::once_flag once;
  std::call_once(once, [] { cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT); });
}

// An error instead of an exception.
template <class Value, class Call>
Value without_exceptions(const Call& call) {
  try {
    return call();
  } catch (const cv::Exception& exception) {
    return bad_input("damaged video: " + exception.err);
  } catch (const std::bad_alloc&) {
    return too_large("not enough memory for its frames");
  }
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
    return is_huge_frame(own.width, own.height) ? Status(huge_frame(own.width, own.height)) : Status();
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
    return without_exceptions<Result<bool>>([this] { return at_frame_ = capture_.grab(); });
  }

  Result<Picture> frame() override {
    return without_exceptions<Result<Picture>>([this] { return decoded(); });
  }

  Status rewind() override {
    return without_exceptions<Status>([this] {
      capture_.release();
      return open();
    });
  }

 private:
  Result<Picture> decoded() {
    cv::Mat bgr;
    if (!at_frame_ || !capture_.retrieve(bgr) || bgr.empty()) {
      return bad_input("damaged video: a frame cannot be decoded");
    }
    if (is_huge_frame(bgr.cols, bgr.rows)) {
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

  std::filesystem::path path_;
  bool estimated_;
  bool at_frame_ = false;
  cv::VideoCapture capture_;
};

}  // namespace

}  // namespace locus::image

extern "C" __attribute__((visibility("default"))) void locus_open_capture(
    const std::filesystem::path& path, bool estimated, std::unique_ptr<locus::image::FrameSource>& source,
    locus::Status& status) {
  using namespace locus;
  image::silence();
  status = image::without_exceptions<Status>([&]() -> Status {
    auto capture = std::make_unique<image::CaptureSource>(path, estimated);
    LOCUS_CHECK(capture->open());
    source = std::move(capture);
    return {};
  });
}
