#include "models/image/video_header.h"

#include <string>

namespace locus::image {
namespace {

using namespace std::string_view_literals;

std::int64_t little_at(std::string_view bytes, std::size_t at, std::size_t count) {
  std::int64_t value = 0;
  for (std::size_t n = count; n-- > 0;) {
    value = (value << 8) | static_cast<std::uint8_t>(bytes[at + n]);
  }
  return value;
}

Result<ContainerHeader> with_pixels(ContainerHeader header) {
  if (header.width < 1 || header.height < 1) {
    return bad_input("expected frames with pixels, found " + std::to_string(header.width) + " × " +
                     std::to_string(header.height));
  }
  return header;
}

}  // namespace

Result<ContainerHeader> read_video_header(std::string_view bytes) {
  if ((bytes.starts_with("GIF87a"sv) || bytes.starts_with("GIF89a"sv)) && bytes.size() >= 10) {
    return with_pixels({Container::kGif, little_at(bytes, 6, 2), little_at(bytes, 8, 2)});
  }
  if (bytes.starts_with("\x1A\x45\xDF\xA3"sv)) {  // EBML: Matroska and WebM
    return ContainerHeader{Container::kWebm};
  }
  if (bytes.size() >= 12 && bytes.substr(4, 4) == "ftyp") {
    return ContainerHeader{Container::kMp4};
  }
  if (bytes.starts_with("RIFF"sv) && bytes.size() >= 12 && bytes.substr(8, 4) == "AVI ") {
    constexpr std::size_t kMain = 24;   // "LIST", its length, "hdrl", then the main header "avih"
    constexpr std::size_t kWidth = 32;  // in it, in bytes
    constexpr std::size_t kHeight = kWidth + 4;
    if (bytes.size() < kMain + 8 + kHeight + 4 || bytes.substr(kMain, 4) != "avih") {
      return bad_input("damaged AVI header");
    }
    return with_pixels(
        {Container::kAvi, little_at(bytes, kMain + 8 + kWidth, 4), little_at(bytes, kMain + 8 + kHeight, 4)});
  }
  return bad_input("expected an MP4, WebM, GIF or AVI video, found something else");
}

}  // namespace locus::image
