#include <cstdint>
#include <string_view>

#include "models/image/video_header.h"
#include "tests/fuzz/tensors.h"

// What a decoder may see: a file of a known container, with pixels where its first bytes say how many.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace locus;
  const auto header = image::read_video_header(std::string_view(reinterpret_cast<const char*>(data), size));
  if (header.ok()) {
    const bool says = header->container == image::Container::kGif || header->container == image::Container::kAvi;
    fuzz::require(says ? header->width > 0 && header->height > 0 : header->width == 0 && header->height == 0);
  }
  return 0;
}
