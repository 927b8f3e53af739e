// Opening a picture with what there is to say of its file (image.h has the same without).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/base/result.h"
#include "models/image/image.h"

namespace locus::image {

struct OpenedPicture {
  Picture picture;
  std::string warning;  // one line, with the file, about a damaged file whose picture is whole; empty
};

// Errors: load_picture()'s; kUnsupported also for animations and for samples of other widths than 8 and 16 bits.
Result<OpenedPicture> open_picture(const std::filesystem::path& path, std::int64_t pixel_limit = 100'000'000);

}  // namespace locus::image
