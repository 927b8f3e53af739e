// liblocus_video.so: the decoder of videos, by OpenCV's videoio and FFmpeg below it. They bring some two hundred libraries,
// which are loaded with the first video; a program without this library opens no videos.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "models/image/video.h"

namespace locus::image {

inline constexpr std::int64_t kMaxFramePixels = 36'000'000;  // 8K and a little more

inline bool is_huge_frame(std::int64_t width, std::int64_t height) {
  return height > 0 && width > kMaxFramePixels / height;
}

inline Error huge_frame(std::int64_t width, std::int64_t height) {
  return too_large("expected frames of at most " + std::to_string(kMaxFramePixels) + " pixels, found " +
                   std::to_string(width) + " × " + std::to_string(height));
}

// What the library has: an open source in `source`, or `status` says why there is none. `path` is absolute, and its first
// bytes are those of a known container; FFmpeg by itself would follow playlists and addresses. `estimated` as in
// VideoHeader. Errors: kBadInput for a video that cannot be decoded or has no pixels, kTooLarge for huge frames.
using OpenCapture = void (*)(const std::filesystem::path& path, bool estimated, std::unique_ptr<FrameSource>& source,
                             Status& status);
inline constexpr const char* kOpenCapture = "locus_open_capture";

}  // namespace locus::image
