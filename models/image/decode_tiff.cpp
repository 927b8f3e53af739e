#include <tiffio.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "models/image/decode.h"

namespace locus::image {

namespace {

constexpr tmsize_t kMaxAllocated = tmsize_t{1} << 30;

// The file in memory, as libtiff's client, and libtiff's messages about it.
struct Client {
  std::string bytes;
  std::size_t at = 0;
  std::string error;
};

Client& of(thandle_t handle) {
  return *static_cast<Client*>(handle);
}

tmsize_t read_client(thandle_t handle, void* out, tmsize_t count) {
  Client& client = of(handle);
  const std::size_t rest = client.bytes.size() - std::min(client.at, client.bytes.size());
  const std::size_t taken = std::min(rest, static_cast<std::size_t>(std::max<tmsize_t>(count, 0)));
  std::memcpy(out, client.bytes.data() + client.at, taken);
  client.at += taken;
  return static_cast<tmsize_t>(taken);
}

tmsize_t write_nothing(thandle_t /*handle*/, void* /*data*/, tmsize_t /*count*/) {
  return 0;
}

toff_t seek_client(thandle_t handle, toff_t offset, int whence) {
  Client& client = of(handle);
  const toff_t from = whence == SEEK_CUR ? client.at : whence == SEEK_END ? client.bytes.size() : 0;
  client.at = static_cast<std::size_t>(std::min<toff_t>(from + offset, client.bytes.size()));
  return client.at;
}

int close_client(thandle_t /*handle*/) {
  return 0;
}

toff_t size_of_client(thandle_t handle) {
  return of(handle).bytes.size();
}

int take_error(TIFF* /*file*/, void* client, const char* /*module*/, const char* format, std::va_list arguments) {
  std::array<char, 256> text{};
  std::vsnprintf(text.data(), text.size(), format, arguments);
  std::string& error = of(client).error;
  error = error.empty() ? text.data() : error;
  return 1;  // handled: libtiff prints nothing
}

// Warnings concern tags; pixels that cannot be read are errors.
int ignore_warning(TIFF* /*file*/, void* /*client*/, const char* /*module*/, const char* /*format*/,
                   std::va_list /*arguments*/) {
  return 1;
}

using File = std::unique_ptr<TIFF, decltype(&TIFFClose)>;

File open(Client& client) {
  const std::unique_ptr<TIFFOpenOptions, decltype(&TIFFOpenOptionsFree)> options(TIFFOpenOptionsAlloc(),
                                                                                 TIFFOpenOptionsFree);
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), kMaxAllocated);
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), take_error, &client);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), ignore_warning, &client);
  // m: no memory mapping, the bytes are in memory already.
  return {TIFFClientOpenExt("image", "rm", &client, read_client, write_nothing, seek_client, close_client,
                            size_of_client, nullptr, nullptr, options.get()),
          TIFFClose};
}

}  // namespace

Result<Decoded> decode_tiff(std::string_view bytes, const Header& header) {
  Client client{std::string(bytes), 0, {}};
  // Ignores the file's orientation tag here: all formats are oriented after decoding.
  if (header.orientation_offset) {
    const bool big_endian = bytes.starts_with("MM");
    client.bytes[*header.orientation_offset + (big_endian ? 1 : 0)] = 1;
    client.bytes[*header.orientation_offset + (big_endian ? 0 : 1)] = 0;
  }
  const File file = open(client);
  if (!file) {
    return damaged_image(client.error.empty() ? "no TIFF directory" : client.error);
  }
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  if (TIFFGetField(file.get(), TIFFTAG_IMAGEWIDTH, &width) != 1 ||
      TIFFGetField(file.get(), TIFFTAG_IMAGELENGTH, &height) != 1 || width != header.width || height != header.height) {
    return damaged_image("its directory contains two sizes");
  }
  std::array<char, 1024> why{};
  if (TIFFRGBAImageOK(file.get(), why.data()) == 0) {
    return unsupported(
        std::string("expected a TIFF with 8 or 16 bits a channel; libtiff reports: ").append(why.data()));
  }
  Decoded decoded;
  decoded.width = width;
  decoded.height = height;
  decoded.rgba.resize(static_cast<std::size_t>(decoded.width * decoded.height) * 4);
  std::vector<std::uint32_t> raster(static_cast<std::size_t>(decoded.width * decoded.height));
  const int read = TIFFReadRGBAImageOriented(file.get(), width, height, raster.data(), ORIENTATION_TOPLEFT, 1);
  if (read == 0 || !client.error.empty()) {
    return damaged_image(client.error.empty() ? "the pixels cannot be decoded" : client.error);
  }
  for (std::size_t n = 0; n < raster.size(); ++n) {
    const std::uint32_t pixel = raster[n];
    const std::array<std::uint32_t, 4> channels{TIFFGetR(pixel), TIFFGetG(pixel), TIFFGetB(pixel), TIFFGetA(pixel)};
    for (std::size_t c = 0; c < channels.size(); ++c) {
      decoded.rgba[4 * n + c] = static_cast<std::uint8_t>(channels[c]);
    }
  }
  return decoded;
}

}  // namespace locus::image
