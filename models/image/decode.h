// From an image file in memory to its pixels: one decoder a format, each with that format's own library, so that what a
// library has to say of a damaged file becomes our Error or warning instead of a line on standard error. Nothing here
// prints, and no state is shared between calls.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "models/image/header.h"

namespace locus::image {

struct Decoded {
  std::int64_t width = 0;  // as stored, before orientation; at most the header's
  std::int64_t height = 0;
  std::vector<std::uint8_t> rgba;  // 8 bits per channel, row-major
  std::string warning;             // what is wrong in a file whose picture is whole; empty
};

// Each takes the whole file and its header, whose size was checked. 16-bit samples are rounded to 8, palettes and grey
// become colours. Errors: kBadInput for a file that ends before its picture does, and for pixels that cannot be decoded
// or are not those that were stored, with the library's words; kUnsupported for samples that are no 8 or 16 bits.
Result<Decoded> decode_png(std::string_view bytes, const Header& header);
Result<Decoded> decode_jpeg(std::string_view bytes, const Header& header);
Result<Decoded> decode_webp(std::string_view bytes, const Header& header);
Result<Decoded> decode_tiff(std::string_view bytes, const Header& header);

// "damaged image: WHAT" and "truncated image: …".
Error damaged_image(std::string_view what);
Error truncated_image(std::size_t bytes);

}  // namespace locus::image
