#include "models/image/header.h"

#include <algorithm>

#include "models/image/tags.h"

namespace locus::image {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kPngSignature = "\x89PNG\r\n\x1A\n"sv;
constexpr std::string_view kExifMark = "Exif\0\0"sv;

std::uint32_t big(std::string_view bytes, std::size_t at, std::size_t count) {
  std::uint32_t value = 0;
  for (std::size_t n = 0; n < count; ++n) {
    value = (value << 8) | static_cast<std::uint8_t>(bytes[at + n]);
  }
  return value;
}

std::uint32_t little(std::string_view bytes, std::size_t at, std::size_t count) {
  std::uint32_t value = 0;
  for (std::size_t n = count; n-- > 0;) {
    value = (value << 8) | static_cast<std::uint8_t>(bytes[at + n]);
  }
  return value;
}

Error damaged(const char* format) {
  return bad_input(std::string("damaged ").append(format).append(" header"));
}

void read_exif(std::string_view block, Header& header) {
  if (block.starts_with(kExifMark)) {
    block.remove_prefix(kExifMark.size());
  }
  if (const auto tags = Tags::parse(block)) {
    header.orientation = tags->orientation();
  }
}

// Signature, then chunks of length, name, data, checksum; IHDR first.
Result<Header> read_png(std::string_view bytes) {
  Header header;
  header.format = Format::kPng;
  constexpr std::size_t kFirst = 8;
  if (bytes.size() < kFirst + 25 || bytes.substr(kFirst + 4, 4) != "IHDR" || big(bytes, kFirst, 4) != 13) {
    return damaged("PNG");
  }
  header.width = big(bytes, kFirst + 8, 4);
  header.height = big(bytes, kFirst + 12, 4);
  for (std::size_t at = kFirst; at + 12 <= bytes.size();) {
    const std::size_t length = big(bytes, at, 4);
    const std::string_view name = bytes.substr(at + 4, 4);
    if (length > bytes.size() - at - 12) {
      break;
    }
    if (name == "IEND") {
      return header;
    }
    if (name == "eXIf") {
      read_exif(bytes.substr(at + 8, length), header);
    }
    at += length + 12;
  }
  header.truncated = true;
  return header;
}

bool is_frame_marker(unsigned marker) {
  return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}

// Segments of FF, marker, length, data up to the frame header (SOF).
Result<Header> read_jpeg(std::string_view bytes) {
  Header header;
  header.format = Format::kJpeg;
  for (std::size_t at = 2; at + 4 <= bytes.size();) {
    const auto marker = static_cast<std::uint8_t>(bytes[at + 1]);
    if (static_cast<std::uint8_t>(bytes[at]) != 0xFF) {
      return damaged("JPEG");
    }
    if (marker == 0xFF) {  // padding
      ++at;
      continue;
    }
    if (marker == 0x01 || (marker >= 0xD0 && marker <= 0xD8)) {  // markers without data
      at += 2;
      continue;
    }
    const std::size_t length = big(bytes, at + 2, 2);
    if (length < 2 || length > bytes.size() - at - 2) {
      return damaged("JPEG");
    }
    if (is_frame_marker(marker)) {
      if (length < 8) {
        return damaged("JPEG");
      }
      header.height = big(bytes, at + 5, 2);
      header.width = big(bytes, at + 7, 2);
      return header;
    }
    const std::string_view data = bytes.substr(at + 4, length - 2);
    if (marker == 0xE1 && data.starts_with(kExifMark)) {
      read_exif(data, header);
    }
    at += length + 2;
  }
  return damaged("JPEG");
}

void widen(Header& header, std::int64_t width, std::int64_t height) {
  header.width = std::max(header.width, width);
  header.height = std::max(header.height, height);
}

// RIFF chunks of name, length, data padded to even bytes.
Result<Header> read_webp(std::string_view bytes) {
  Header header;
  header.format = Format::kWebp;
  for (std::size_t at = 12; at + 8 <= bytes.size();) {
    const std::string_view name = bytes.substr(at, 4);
    const std::size_t length = little(bytes, at + 4, 4);
    const std::string_view data = bytes.substr(at + 8, length);
    if (name == "VP8 " && data.size() >= 10) {
      widen(header, little(data, 6, 2) & 0x3FFF, little(data, 8, 2) & 0x3FFF);
    } else if (name == "VP8L" && data.size() >= 5) {
      const std::uint32_t sizes = little(data, 1, 4);
      widen(header, (sizes & 0x3FFF) + 1, ((sizes >> 14) & 0x3FFF) + 1);
    } else if (name == "VP8X" && data.size() >= 10) {
      widen(header, std::int64_t{little(data, 4, 3)} + 1, std::int64_t{little(data, 7, 3)} + 1);
    } else if (name == "EXIF") {
      read_exif(data, header);
    }
    at += 8 + length + (length & 1);
  }
  header.truncated = little(bytes, 4, 4) > bytes.size() - 8;
  return header.width > 0 ? Result<Header>(header) : damaged("WebP");
}

Result<Header> read_tiff(std::string_view bytes) {
  Header header;
  header.format = Format::kTiff;
  const auto tags = Tags::parse(bytes);
  const auto width = tags ? tags->find(kTagWidth) : std::nullopt;
  const auto height = tags ? tags->find(kTagHeight) : std::nullopt;
  if (!width || !height) {
    return damaged("TIFF");
  }
  header.width = width->value;
  header.height = height->value;
  const auto tile_width = tags->find(kTagTileWidth);
  const auto tile_height = tags->find(kTagTileHeight);
  constexpr std::int64_t kPadding = 4096;  // a tile may exceed a small image, within limits
  if ((tile_width && tile_width->value > header.width + kPadding) ||
      (tile_height && tile_height->value > header.height + kPadding)) {
    return damaged("TIFF");
  }
  header.orientation = tags->orientation();
  if (const auto tag = tags->find(kTagOrientation)) {
    header.orientation_offset = tag->offset;
  }
  return header;
}

Result<Header> read_any(std::string_view bytes) {
  if (bytes.starts_with(kPngSignature)) {
    return read_png(bytes);
  }
  if (bytes.starts_with("\xFF\xD8\xFF"sv)) {
    return read_jpeg(bytes);
  }
  if (bytes.starts_with("RIFF"sv) && bytes.size() >= 12 && bytes.substr(8, 4) == "WEBP") {
    return read_webp(bytes);
  }
  if (bytes.starts_with("II\x2B\0"sv) || bytes.starts_with("MM\0\x2B"sv)) {
    return unsupported("BigTIFF");
  }
  if (bytes.starts_with("II\x2A\0"sv) || bytes.starts_with("MM\0\x2A"sv)) {
    return read_tiff(bytes);
  }
  return bad_input("expected a PNG, JPEG, WebP or TIFF image, found something else");
}

}  // namespace

Result<Header> read_header(std::string_view bytes) {
  LOCUS_TRY(Header header, read_any(bytes));
  if (header.width <= 0 || header.height <= 0) {
    return bad_input("expected an image with pixels, found " + std::to_string(header.width) + " × " +
                     std::to_string(header.height));
  }
  return header;
}

}  // namespace locus::image
