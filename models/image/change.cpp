#include "models/image/change.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/numbers.h"
#include "models/image/resize.h"

#if LOCUS_IMAGES
#include <opencv2/imgproc.hpp>
#endif

namespace locus::image {

namespace {

using models::LengthUnit;
using models::PictureChange;
using models::PictureNumber;
using models::PictureStep;

double pixels_of(const PictureNumber& length, std::int64_t side, double patch) {
  return length.unit == LengthUnit::kPixels    ? length.value
         : length.unit == LengthUnit::kPatches ? length.value * patch
                                               : length.value / 100 * static_cast<double>(side);
}

Affine about(double x, double y, double a, double b, double d, double e) {
  return {{a, b, x - a * x - b * y, d, e, y - d * x - e * y}};
}

}  // namespace

std::array<double, 2> Affine::at(double x, double y) const {
  return {of[0] * x + of[1] * y + of[2], of[3] * x + of[4] * y + of[5]};
}

Affine Affine::then(const Affine& next) const {
  const auto& [a, b, c, d, e, f] = next.of;
  return {{a * of[0] + b * of[3], a * of[1] + b * of[4], a * of[2] + b * of[5] + c, d * of[0] + e * of[3],
           d * of[1] + e * of[4], d * of[2] + e * of[5] + f}};
}

Affine Affine::inverse() const {
  const double det = of[0] * of[4] - of[1] * of[3];
  const double a = of[4] / det;
  const double b = -of[1] / det;
  const double d = -of[3] / det;
  const double e = of[0] / det;
  return {{a, b, -(a * of[2] + b * of[5]), d, e, -(d * of[2] + e * of[5])}};
}

Affine affine_of(const PictureChange& change, std::int64_t width, std::int64_t height, PatchSize patch) {
  const double x = static_cast<double>(width - 1) / 2;
  const double y = static_cast<double>(height - 1) / 2;
  const double first = change.numbers[0].value;
  switch (change.step) {
    case PictureStep::kShift:
      return {{1, 0, pixels_of(change.numbers[0], width, patch.width), 0, 1,
               pixels_of(change.numbers[1], height, patch.height)}};
    case PictureStep::kRotate: {
      // Quarters of a turn are exact.
      const double turns = first / 90;
      const bool quarters = turns == std::floor(turns);
      const double angle = first * std::numbers::pi / 180;
      const double c = quarters ? std::round(std::cos(angle)) : std::cos(angle);
      const double s = quarters ? std::round(std::sin(angle)) : std::sin(angle);
      return about(x, y, c, -s, s, c);
    }
    case PictureStep::kScale:
      return about(x, y, first, 0, 0, first);
    default:
      return first == 0 ? about(x, y, -1, 0, 0, 1) : about(x, y, 1, 0, 0, -1);
  }
}

#if LOCUS_IMAGES

namespace {

constexpr std::int64_t kMaxSide = 32766;   // of OpenCV's warpAffine
constexpr double kMaxBlurredPixels = 2e9;  // deviation × pixels
constexpr double kMaxDeviation = 200;

bool moves(PictureStep step) {
  return step == PictureStep::kShift || step == PictureStep::kRotate || step == PictureStep::kScale ||
         step == PictureStep::kMirror;
}

std::string size_text(double width, double height) {
  return number_text(width) + " × " + number_text(height);
}

// A picture on its way through the steps.
class Changed {
 public:
  Changed(const Picture& picture, const Preprocessing& options, std::int64_t patch)
      : options_(options),
        patch_(patch),
        mat_(static_cast<int>(picture.height), static_cast<int>(picture.width), CV_8UC4,
             const_cast<std::uint8_t*>(picture.rgba.data())) {}

  Status apply(const PictureChange& change) {
    if (moves(change.step)) {
      LOCUS_TRY(const PatchSize patch, patch_size(change));
      map_ = map_.then(affine_of(change, width(), height(), patch));
      moved_ = true;
      return {};
    }
    flush();
    switch (change.step) {
      case PictureStep::kCrop:
        return crop(change);
      case PictureStep::kOcclude:
        return occlude(change);
      case PictureStep::kBlur:
        return blur(change);
      case PictureStep::kNoise:
        add_noise(change);
        return {};
      case PictureStep::kBrightness:
        brighten(change.numbers[0].value);
        return {};
      default:
        border_ = static_cast<int>(change.numbers[0].value);
        return {};
    }
  }

  Picture taken() {
    flush();
    const cv::Mat whole = mat_.isContinuous() ? mat_ : mat_.clone();
    return {whole.cols, whole.rows, {whole.data, whole.data + whole.total() * 4}};
  }

 private:
  std::int64_t width() const { return mat_.cols; }
  std::int64_t height() const { return mat_.rows; }
  // Asked for where a length is in patches alone: a picture that is too thin for a model may be cropped first.
  Result<PatchSize> patch_size(const PictureChange& change) const {
    const bool asked = std::ranges::any_of(
        change.numbers, [](const PictureNumber& number) { return number.unit == LengthUnit::kPatches; });
    return asked ? image::patch_size(width(), height(), options_, patch_) : Result<PatchSize>(PatchSize{1, 1});
  }

  void flush() {
    if (!std::exchange(moved_, false)) {
      return;
    }
    constexpr std::array kModes{cv::BORDER_REPLICATE, cv::BORDER_CONSTANT, cv::BORDER_CONSTANT, cv::BORDER_REFLECT_101,
                                cv::BORDER_WRAP};
    constexpr double kGrey = 128;
    constexpr int kOfGrey = 2;
    const double level = border_ == kOfGrey ? kGrey : 0;
    const cv::Mat map =
        (cv::Mat_<double>(2, 3) << map_.of[0], map_.of[1], map_.of[2], map_.of[3], map_.of[4], map_.of[5]);
    cv::Mat moved;
    cv::warpAffine(mat_, moved, map, mat_.size(), cv::INTER_LINEAR, kModes[static_cast<std::size_t>(border_)],
                   cv::Scalar(level, level, level, 255));
    mat_ = moved;
    map_ = {};
  }

  // A rectangle in whole pixels.
  Result<cv::Rect> rectangle(const PictureChange& change) const {
    LOCUS_TRY(const PatchSize patch, patch_size(change));
    const auto at = [&](std::size_t n, std::int64_t side, double size) {
      return std::round(pixels_of(change.numbers[n], side, size));
    };
    const double left = at(0, width(), patch.width);
    const double top = at(1, height(), patch.height);
    const double wide = at(2, width(), patch.width);
    const double high = at(3, height(), patch.height);
    if (wide < 1 || high < 1 || left + wide > static_cast<double>(width()) ||
        top + high > static_cast<double>(height())) {
      return bad_input("picture: " + to_text(change) + ": expected a rectangle within " + std::to_string(width()) +
                       " × " + std::to_string(height()) + " pixels, found " + size_text(wide, high) + " at " +
                       number_text(left) + ", " + number_text(top));
    }
    return cv::Rect(static_cast<int>(left), static_cast<int>(top), static_cast<int>(wide), static_cast<int>(high));
  }

  Status crop(const PictureChange& change) {
    LOCUS_TRY(const cv::Rect part, rectangle(change));
    mat_ = mat_(part).clone();
    return {};
  }

  Status occlude(const PictureChange& change) {
    LOCUS_TRY(const cv::Rect part, rectangle(change));
    const double level = change.numbers[4].value;
    mat_ = mat_.clone();
    mat_(part).setTo(cv::Scalar(level, level, level, 255));
    return {};
  }

  Status blur(const PictureChange& change) {
    LOCUS_TRY(const PatchSize patch, patch_size(change));
    const double deviation = pixels_of(change.numbers[0], width(), patch.width);
    const double most = std::min(kMaxDeviation, kMaxBlurredPixels / static_cast<double>(width() * height()));
    if (deviation > most) {
      return too_large("picture: " + to_text(change) + ": expected a deviation of at most " + general_text(most, 4) +
                       " pixels for a picture of " + std::to_string(width()) + " × " + std::to_string(height()) +
                       ", found " + general_text(deviation, 4));
    }
    if (deviation > 0) {
      cv::Mat blurred;
      cv::GaussianBlur(mat_, blurred, {}, deviation, deviation, cv::BORDER_REPLICATE);
      mat_ = blurred;
    }
    return {};
  }

  // The same amount on every run: float32 numbers of OpenCV's generator, for red, green and blue of each pixel.
  void add_noise(const PictureChange& change) {
    cv::RNG random(static_cast<std::uint64_t>(change.numbers[1].value));
    mat_ = mat_.clone();
    cv::Mat row(1, mat_.cols, CV_32FC3);
    for (int y = 0; y < mat_.rows; ++y) {
      random.fill(row, cv::RNG::NORMAL, 0, change.numbers[0].value);
      auto* const pixel = mat_.ptr<cv::Vec4b>(y);
      const auto* const noise = row.ptr<cv::Vec3f>(0);
      for (int x = 0; x < mat_.cols; ++x) {
        for (int channel = 0; channel < 3; ++channel) {
          pixel[x][channel] =
              cv::saturate_cast<std::uint8_t>(static_cast<float>(pixel[x][channel]) + noise[x][channel]);
        }
      }
    }
  }

  void brighten(double factor) {
    mat_ = mat_.clone();
    std::array<std::uint8_t, 256> table{};
    for (std::size_t n = 0; n < table.size(); ++n) {
      table[n] = cv::saturate_cast<std::uint8_t>(factor * static_cast<double>(n));
    }
    for (int y = 0; y < mat_.rows; ++y) {
      auto* const pixel = mat_.ptr<cv::Vec4b>(y);
      for (int x = 0; x < mat_.cols; ++x) {
        for (int channel = 0; channel < 3; ++channel) {
          pixel[x][channel] = table[pixel[x][channel]];
        }
      }
    }
  }

  const Preprocessing& options_;
  std::int64_t patch_;
  cv::Mat mat_;  // until the first change, the pixels of the given picture
  Affine map_;   // of the steps that are not drawn yet
  bool moved_ = false;
  int border_ = 0;
};

}  // namespace

Result<Picture> change_picture(const Picture& picture, const models::PictureChanges& changes,
                               const Preprocessing& options, std::int64_t patch) {
  if (changes.empty()) {
    return picture;
  }
  const bool sized = picture.width > 0 && picture.height > 0;
  if (!sized || std::ssize(picture.rgba) / picture.height / 4 != picture.width) {
    return bad_input("expected a picture with pixels, found " +
                     size_text(static_cast<double>(picture.width), static_cast<double>(picture.height)) + " with " +
                     std::to_string(picture.rgba.size()) + " bytes");
  }
  if (picture.width > kMaxSide || picture.height > kMaxSide) {
    return too_large("picture: expected sides of at most " + std::to_string(kMaxSide) + " pixels to change it, found " +
                     std::to_string(picture.width) + " × " + std::to_string(picture.height));
  }
  try {
    Changed changed(picture, options, patch);
    for (const PictureChange& change : changes) {
      LOCUS_CHECK(changed.apply(change));
    }
    return changed.taken();
  } catch (const std::exception& exception) {       // cv::Exception, std::bad_alloc
    const std::string_view what(exception.what());  // OpenCV's ends in a line feed
    return too_large("picture: cannot be changed: " + std::string(what.substr(0, what.find('\n'))));
  }
}

#else

Result<Picture> change_picture(const Picture& picture, const models::PictureChanges& changes,
                               const Preprocessing& /*options*/, std::int64_t /*patch*/) {
  return changes.empty() ? Result<Picture>(picture)
                         : unsupported("this build changes no pictures (it was made without OpenCV)");
}

#endif

}  // namespace locus::image
