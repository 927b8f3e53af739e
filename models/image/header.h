// Image headers: size and format of a file before anything is decoded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace locus::image {

enum class Format { kPng, kJpeg, kWebp, kTiff };

struct Header {
  Format format = Format::kPng;
  std::int64_t width = 0;  // as stored, before orientation
  std::int64_t height = 0;
  bool truncated = false;                         // the file ends before its last chunk does (PNG, WebP)
  int orientation = 1;                            // EXIF's 1 … 8
  std::optional<std::size_t> orientation_offset;  // of a TIFF's own tag: offset of its value
};

// Reads PNG, JPEG, WebP and TIFF headers. Sizes are the largest that any part of the file contains (a TIFF's tiles, a
// WebP's canvas and frame). Errors: kBadInput for another format, a damaged header or an empty image; kUnsupported for
// BigTIFF.
Result<Header> read_header(std::string_view bytes);

}  // namespace locus::image
