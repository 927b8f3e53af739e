#include "core/base/atomic_file.h"
#include "models/image/header.h"
#include "models/image/image.h"

#if LOCUS_IMAGES
#include <opencv2/core/utils/logger.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#endif

namespace locus::image {
namespace {

constexpr std::size_t kFileLimit = std::size_t{1} << 30;

#if LOCUS_IMAGES

// EXIF's eight orientations as transpose, then mirrored columns, then mirrored rows.
cv::Mat upright(const cv::Mat& stored, int orientation) {
  cv::Mat result = stored;
  if (orientation >= 5) {
    cv::transpose(stored, result);
  }
  const bool columns = orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
  const bool rows = orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
  if (columns || rows) {
    cv::Mat flipped;
    cv::flip(result, flipped, columns && rows ? -1 : columns ? 1 : 0);
    result = flipped;
  }
  return result;
}

Result<cv::Mat> to_rgba(cv::Mat decoded) {
  if (decoded.depth() == CV_16U) {
    cv::Mat narrow;
    decoded.convertTo(narrow, CV_8U, 1.0 / 257);
    decoded = narrow;
  }
  if (decoded.depth() != CV_8U) {
    return unsupported("expected 8 or 16 bits a channel, found another depth");
  }
  cv::Mat rgba;
  switch (decoded.channels()) {
    case 1:
      cv::cvtColor(decoded, rgba, cv::COLOR_GRAY2RGBA);
      return rgba;
    case 3:
      cv::cvtColor(decoded, rgba, cv::COLOR_BGR2RGBA);
      return rgba;
    case 4:
      cv::cvtColor(decoded, rgba, cv::COLOR_BGRA2RGBA);
      return rgba;
    default:
      return unsupported("expected 1, 3 or 4 channels, found " + std::to_string(decoded.channels()));
  }
}

Result<Picture> decode(std::string bytes, const Header& header) {
  // A TIFF's own tag would turn the picture inside the decoder, the others not at all: everything is turned here.
  if (header.orientation_offset) {
    const bool big_endian = bytes.starts_with("MM");
    bytes[*header.orientation_offset + (big_endian ? 1 : 0)] = 1;
    bytes[*header.orientation_offset + (big_endian ? 0 : 1)] = 0;
  }
  cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);  // what fails is in the Result
  const cv::Mat raw(1, static_cast<int>(bytes.size()), CV_8U, bytes.data());
  const cv::Mat decoded = cv::imdecode(raw, cv::IMREAD_UNCHANGED);
  if (decoded.empty()) {
    return bad_input("damaged image: the pixels cannot be decoded");
  }
  LOCUS_TRY(const cv::Mat rgba, to_rgba(decoded));
  const cv::Mat turned = upright(rgba, header.orientation);
  Picture picture;
  picture.width = turned.cols;
  picture.height = turned.rows;
  picture.rgba.reserve(turned.total() * 4);
  for (int row = 0; row < turned.rows; ++row) {
    const std::uint8_t* pixels = turned.ptr<std::uint8_t>(row);
    picture.rgba.insert(picture.rgba.end(), pixels, pixels + std::size_t{4} * static_cast<std::size_t>(turned.cols));
  }
  return picture;
}

Result<Picture> decode_guarded(std::string bytes, const Header& header) {
  try {
    return decode(std::move(bytes), header);
  } catch (const cv::Exception& failure) {
    return bad_input("damaged image: " + failure.err);
  } catch (const std::bad_alloc&) {
    return too_large("not enough memory for " + std::to_string(header.width) + " × " + std::to_string(header.height) +
                     " pixels");
  }
}

#else

Result<Picture> decode_guarded(const std::string& /*bytes*/, const Header& /*header*/) {
  return unsupported("this build opens no images (it was made without OpenCV)");
}

#endif

Result<Picture> load(std::string bytes, std::int64_t pixel_limit) {
  LOCUS_TRY(const Header header, read_header(bytes));
  if (header.width > pixel_limit / header.height) {
    return too_large("expected at most " + std::to_string(pixel_limit) + " pixels, found " +
                     std::to_string(header.width) + " × " + std::to_string(header.height));
  }
  if (header.truncated) {
    return bad_input("truncated image: the file ends after " + std::to_string(bytes.size()) + " bytes");
  }
  return decode_guarded(std::move(bytes), header);
}

}  // namespace

Result<Picture> load_picture(const std::filesystem::path& path, std::int64_t pixel_limit) {
  LOCUS_TRY(std::string bytes, read_file(path, kFileLimit));
  auto picture = load(std::move(bytes), pixel_limit);
  return picture.ok() ? std::move(picture) : Result<Picture>(picture.error().within(path.string()));
}

}  // namespace locus::image
