// Sizes of pictures by the rules of vision-language models.
#pragma once

#include <cstdint>
#include <vector>

#include "models/image/image.h"

namespace locus::image {

// Limit of a resized picture.
inline constexpr std::int64_t kPixelLimit = 100'000'000;

struct Size {
  std::int64_t width = 0;
  std::int64_t height = 0;
};

// Size by the rules kPixels, kLongest and kTiles, in whole cells of `cell` pixels. Errors: kBadInput for a picture that
// is too thin or too small, kTooLarge.
Result<Size> size_by_rule(Size picture, const Preprocessing& options, std::int64_t cell);
// kTiles: the successive sizes of a picture before it is cut; two, since each step rounds its levels.
Result<std::vector<Size>> tile_sizes(Size picture, const Preprocessing& options);

}  // namespace locus::image
