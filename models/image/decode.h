// Decoders: from an image file in memory to its pixels, one per format, each with the format's own library. A library's
// report on a damaged file becomes an Error or a warning instead of a line on standard error. Nothing here prints, and
// calls share no state.
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
  std::string warning;             // damage in a file whose picture is complete; empty otherwise
};

// Each takes the whole file and its header, whose size was checked. 16-bit samples are rounded to 8 bits, palettes and
// grey become colours. Errors: kBadInput, with the library's message, for a file that ends before its picture does and
// for pixels that cannot be decoded or differ from those stored; kUnsupported for samples of other than 8 or 16 bits.
Result<Decoded> decode_png(std::string_view bytes, const Header& header);
Result<Decoded> decode_jpeg(std::string_view bytes, const Header& header);
Result<Decoded> decode_webp(std::string_view bytes, const Header& header);
Result<Decoded> decode_tiff(std::string_view bytes, const Header& header);

// The messages "damaged image: REASON" and "truncated image: …".
Error damaged_image(std::string_view what);
Error truncated_image(std::size_t bytes);

}  // namespace locus::image
