// Opening a picture together with a warning about its file (load_picture() in image.h has none).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/base/result.h"
#include "models/image/image.h"

namespace locus::image {

struct OpenedPicture {
  Picture picture;
  std::string warning;  // one line, with the file, about a damaged file whose picture is complete; empty otherwise
};

// Errors: those of load_picture(); kUnsupported also for animations and for samples of other than 8 or 16 bits.
Result<OpenedPicture> open_picture(const std::filesystem::path& path, std::int64_t pixel_limit = 100'000'000);

}  // namespace locus::image
