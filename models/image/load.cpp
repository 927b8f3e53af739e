#include "models/api/local.h"
#include "models/image/image.h"

#include <array>
#include <new>
#include <utility>

#include "core/base/atomic_file.h"
#include "models/image/decode.h"
#include "models/image/header.h"

namespace locus::image {
namespace {

constexpr std::size_t kFileLimit = std::size_t{1} << 30;

#if LOCUS_IMAGES

// The pixel (row, column) of the upright picture is at begin + row·down + column·right of the stored one: EXIF's eight
// orientations as transpose, then mirrored columns, then mirrored rows.
Picture upright(Decoded decoded, int orientation) {
  Picture picture{decoded.width, decoded.height, std::move(decoded.rgba)};
  if (orientation == 1) {
    return picture;
  }
  std::int64_t down = picture.width;
  std::int64_t right = 1;
  if (orientation >= 5) {
    std::swap(picture.width, picture.height);
    std::swap(down, right);
  }
  std::int64_t begin = 0;
  if (orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7) {
    begin += (picture.width - 1) * right;
    right = -right;
  }
  if (orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8) {
    begin += (picture.height - 1) * down;
    down = -down;
  }
  std::vector<std::uint8_t> turned;
  turned.reserve(picture.rgba.size());
  for (std::int64_t row = 0; row < picture.height; ++row) {
    for (std::int64_t column = 0; column < picture.width; ++column) {
      const auto pixel = picture.rgba.begin() + 4 * (begin + row * down + column * right);
      turned.insert(turned.end(), pixel, pixel + 4);
    }
  }
  picture.rgba = std::move(turned);
  return picture;
}

Result<Decoded> decode(std::string_view bytes, const Header& header) {
  switch (header.format) {
    case Format::kPng:
      return decode_png(bytes, header);
    case Format::kJpeg:
      return decode_jpeg(bytes, header);
    case Format::kWebp:
      return decode_webp(bytes, header);
    case Format::kTiff:
      return decode_tiff(bytes, header);
  }
  return internal("an image of no format");
}

Result<OpenedPicture> decode_upright(std::string_view bytes, const Header& header) {
  try {
    LOCUS_TRY(Decoded decoded, decode(bytes, header));
    std::string warning = std::move(decoded.warning);
    return OpenedPicture{upright(std::move(decoded), header.orientation), std::move(warning)};
  } catch (const std::bad_alloc&) {
    return too_large("not enough memory for " + std::to_string(header.width) + " × " + std::to_string(header.height) +
                     " pixels");
  }
}

#else

Result<OpenedPicture> decode_upright(std::string_view /*bytes*/, const Header& /*header*/) {
  return unsupported("this build opens no images (LOCUS_IMAGES=OFF)");
}

#endif

Result<OpenedPicture> open(std::string_view bytes, std::int64_t pixel_limit) {
  LOCUS_TRY(const Header header, read_header(bytes));
  if (header.width > pixel_limit / header.height) {
    return too_large("expected at most " + std::to_string(pixel_limit) + " pixels, found " +
                     std::to_string(header.width) + " × " + std::to_string(header.height));
  }
  if (header.truncated) {
    return truncated_image(bytes.size());
  }
  return decode_upright(bytes, header);
}

}  // namespace

Error damaged_image(std::string_view what) {
  return bad_input("damaged image: " + std::string(what));
}

Error truncated_image(std::size_t bytes) {
  return bad_input("truncated image: the file ends after " + std::to_string(bytes) + " bytes");
}

Result<OpenedPicture> open_picture(const std::filesystem::path& path, std::int64_t pixel_limit) {
  LOCUS_TRY(const std::string bytes, read_file(path, kFileLimit));
  LOCUS_TRY(OpenedPicture opened, within(open(bytes, pixel_limit), path.string()));
  if (!opened.warning.empty()) {
    opened.warning = path.string() + ": " + opened.warning;
  }
  return opened;
}

Result<Picture> local::load_picture(const std::filesystem::path& path, std::int64_t pixel_limit) {
  LOCUS_TRY(OpenedPicture opened, open_picture(path, pixel_limit));
  return std::move(opened.picture);
}

}  // namespace locus::image
