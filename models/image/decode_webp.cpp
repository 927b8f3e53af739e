#include <webp/decode.h>

#include "models/image/decode.h"

namespace locus::image {

Result<Decoded> decode_webp(std::string_view bytes, const Header& header) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(data, bytes.size(), &features) != VP8_STATUS_OK) {
    return damaged_image("no WebP bit stream");
  }
  if (features.has_animation != 0) {
    return unsupported("expected one picture, found an animated WebP");
  }
  Decoded decoded;
  decoded.width = features.width;
  decoded.height = features.height;
  if (decoded.width < 1 || decoded.height < 1 || decoded.width > header.width || decoded.height > header.height) {
    return damaged_image("its header contains two sizes");
  }
  decoded.rgba.resize(static_cast<std::size_t>(decoded.width * decoded.height) * 4);
  if (WebPDecodeRGBAInto(data, bytes.size(), decoded.rgba.data(), decoded.rgba.size(), features.width * 4) == nullptr) {
    return damaged_image("the WebP bit stream cannot be decoded");
  }
  return decoded;
}

}  // namespace locus::image
