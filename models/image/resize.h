// Resizing of pictures: sizes by the rules of vision-language models, and resampling as in Pillow, which defines
// "bilinear" and "bicubic" of published preprocessing: when an image shrinks, the kernel widens with it, so that every
// pixel counts (OpenCV's kernels keep their width and alias).
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "models/image/image.h"

namespace locus::image {

// Limit of a resized picture.
inline constexpr std::int64_t kPixelLimit = 100'000'000;

struct Size {
  std::int64_t width = 0;
  std::int64_t height = 0;
};

// Size by the rules kPixels, kPatches, kCells, kLongest, kTiles, kCanvas, kPinpoints and kTokens, in whole cells of
// `cell` pixels; by kPadded that of the picture alone. Errors: kBadInput for a picture that is too thin or too small, and
// where the cells of kTokens are others; kTooLarge; those of token_tiles().
Result<Size> size_by_rule(Size picture, const Preprocessing& options, std::int64_t cell);
// kTokens: the grid of tiles of a picture, 1 × 1 for one in one part. Errors: kUnsupported where that grid is 1 × 1 for a
// picture that is cut, and where two grids of as many tiles are as near to its aspect.
Result<TilePlace> token_tiles(Size picture, const Preprocessing& options);
// kTokens: the size of a picture in one part, or of the whole behind its tiles.
Size whole_by_tokens(Size picture, const Preprocessing& options);
// kTiles: the successive sizes of a picture before it is cut; two, since each step rounds its levels.
Result<std::vector<Size>> tile_sizes(Size picture, const Preprocessing& options);

// The picture at another size: along each axis, output pixel i averages the inputs within `support`·scale of (i +
// ½)·scale, scale = input / output, weighted by the normalised kernel; rounded to 8 bits between the axes.
Picture resample(const Picture& picture, std::int64_t width, std::int64_t height, Interpolation interpolation);

}  // namespace locus::image
