// Headers of videos: the container of a file and, where its first bytes say it, the size of its frames, before a decoder
// sees the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/result.h"

namespace locus::image {

enum class Container { kMp4, kWebm, kGif, kAvi };

struct ContainerHeader {
  Container container = Container::kMp4;
  std::int64_t width = 0;  // 0: said further behind
  std::int64_t height = 0;

  // Whether such files have their number of frames; of others it is made of their length in seconds.
  bool counts_frames() const { return container == Container::kMp4 || container == Container::kAvi; }
};

inline constexpr std::size_t kVideoHeaderBytes = 4096;  // enough of a file

// Reads the first bytes of a file. Errors: kBadInput for another format, and for a GIF or AVI without pixels.
Result<ContainerHeader> read_video_header(std::string_view bytes);

}  // namespace locus::image
