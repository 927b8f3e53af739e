#include <algorithm>
#include <array>
#include <cmath>

#include "models/image/image.h"
#include "models/image/resize.h"

namespace locus::image {
namespace {

Size sized(const Picture& picture, const Preprocessing& options) {
  if (!options.shortest_edge) {
    return {options.width, options.height};
  }
  const auto along = [&](std::int64_t longer, std::int64_t shorter) {
    return static_cast<std::int64_t>(static_cast<double>(options.height) * static_cast<double>(longer) /
                                     static_cast<double>(shorter));
  };
  return picture.width <= picture.height ? Size{options.height, along(picture.height, picture.width)}
                                         : Size{along(picture.width, picture.height), options.height};
}

Result<Size> resized(const Picture& picture, const Preprocessing& options, std::int64_t patch) {
  return options.rule == ResizeRule::kSize ? Result<Size>(sized(picture, options))
                                           : size_by_rule({picture.width, picture.height}, options, patch);
}

// The window of `size` with its top left corner at (left, top); one colour, black, beyond the picture.
Picture window(const Picture& picture, Size size, std::int64_t left, std::int64_t top,
               const std::array<std::uint8_t, 3>& ground = {0, 0, 0}) {
  Picture result{size.width, size.height,
                 std::vector<std::uint8_t>(static_cast<std::size_t>(size.width * size.height * 4))};
  for (std::size_t at = 0; at < result.rgba.size(); at += 4) {
    std::copy(ground.begin(), ground.end(), result.rgba.begin() + static_cast<std::ptrdiff_t>(at));
    result.rgba[at + 3] = 255;
  }
  const std::int64_t first = std::max<std::int64_t>(left, 0);
  const std::int64_t last = std::min(left + size.width, picture.width);
  for (std::int64_t row = 0; row < size.height && first < last; ++row) {
    if (top + row >= 0 && top + row < picture.height) {
      const auto from = picture.rgba.begin() + 4 * ((top + row) * picture.width + first);
      std::copy(from, from + 4 * (last - first), result.rgba.begin() + 4 * (row * size.width + first - left));
    }
  }
  return result;
}

// Crops equally on both sides; an odd pixel on the right and below.
std::int64_t margin(std::int64_t whole, std::int64_t part) {
  return whole >= part ? (whole - part) / 2 : -((part - whole + 1) / 2);
}

// By kPadded: the side of the square around the resized picture, and the pixels of it before the picture along an edge.
std::int64_t padded_side(Size size) {
  return std::max(size.width, size.height);
}
std::int64_t padding(std::int64_t side, std::int64_t edge) {
  return (side - edge) / 2;
}

Status check(const Picture& picture, const Preprocessing& options, std::int64_t patch) {
  const auto expected = static_cast<std::size_t>(std::max<std::int64_t>(picture.width * picture.height, 0) * 4);
  if (picture.width <= 0 || picture.height <= 0 || picture.rgba.size() != expected) {
    return bad_input("expected a picture with pixels, found " + std::to_string(picture.width) + " × " +
                     std::to_string(picture.height));
  }
  if (patch <= 0) {
    return bad_input("patch size: expected a positive number, found " + std::to_string(patch));
  }
  LOCUS_TRY(const Size size, resized(picture, options, patch));
  if (options.resize && (size.width <= 0 || size.height <= 0 || size.width > kPixelLimit / size.height)) {
    return too_large("expected at most " + std::to_string(kPixelLimit) + " pixels after resizing, found " +
                     std::to_string(size.width) + " × " + std::to_string(size.height));
  }
  if (options.center_crop &&
      (options.crop_width <= 0 || options.crop_height <= 0 || options.crop_width > kPixelLimit / options.crop_height)) {
    return too_large("expected at most " + std::to_string(kPixelLimit) + " pixels after cropping, found " +
                     std::to_string(options.crop_width) + " × " + std::to_string(options.crop_height));
  }
  const std::int64_t side = padded_side(options.resize ? size : Size{picture.width, picture.height});
  if (options.rule == ResizeRule::kPadded && side > kPixelLimit / side) {
    return too_large("expected at most " + std::to_string(kPixelLimit) + " pixels after padding, found " +
                     std::to_string(side) + " × " + std::to_string(side));
  }
  return {};
}

// The planes red, green and blue, rescaled and normalised.
Pixels normalised(Picture shown, const Preprocessing& options) {
  Pixels pixels;
  pixels.width = shown.width;
  pixels.height = shown.height;
  const auto plane = static_cast<std::size_t>(shown.width * shown.height);
  pixels.values.resize(3 * plane);
  constexpr std::size_t kLevels = 256;
  for (std::size_t channel = 0; channel < 3; ++channel) {
    std::array<float, kLevels> becomes{};
    for (std::size_t level = 0; level < kLevels; ++level) {
      const double value = options.rescale * static_cast<double>(level);
      becomes[level] = static_cast<float>((value - options.mean[channel]) / options.deviation[channel]);
    }
    for (std::size_t at = 0; at < plane; ++at) {
      pixels.values[channel * plane + at] = becomes[shown.rgba[4 * at + channel]];
    }
  }
  pixels.shown = std::move(shown);
  return pixels;
}

// The tiles of a canvas row by row, followed by the whole picture at this size where they are several.
std::vector<Pixels> canvas_tiles(const Picture& picture, const Preprocessing& options, const TilePlace& grid,
                                 Size whole) {
  const Size tile{options.width, options.height};
  const Picture large = resample(picture, grid.columns * tile.width, grid.rows * tile.height, options.interpolation);
  const bool several = grid.rows * grid.columns > 1;
  std::vector<Pixels> all;
  for (std::int64_t row = 0; row < grid.rows; ++row) {
    for (std::int64_t column = 0; column < grid.columns; ++column) {
      all.push_back(normalised(window(large, tile, column * tile.width, row * tile.height), options));
      if (several) {
        all.back().tile = {grid.rows, grid.columns, row, column};
      }
    }
  }
  if (several && options.whole) {
    all.push_back(normalised(resample(picture, whole.width, whole.height, options.interpolation), options));
  }
  return all;
}

// The whole picture, then the tiles of the canvas in whose middle it lies, row by row.
std::vector<Pixels> pinpoint_tiles(const Picture& picture, const Preprocessing& options) {
  const TilePlace grid = canvas_of(picture.width, picture.height, options);
  const Size tile{options.width, options.height};
  const Size canvas{grid.columns * tile.width, grid.rows * tile.height};
  const double across = static_cast<double>(canvas.width) / static_cast<double>(picture.width);
  const double down = static_cast<double>(canvas.height) / static_cast<double>(picture.height);
  const auto within_canvas = [](std::int64_t side, double scale, std::int64_t most) {
    return std::min(static_cast<std::int64_t>(std::ceil(static_cast<double>(side) * scale)), most);
  };
  const Size size = across < down ? Size{canvas.width, within_canvas(picture.height, across, canvas.height)}
                                  : Size{within_canvas(picture.width, down, canvas.width), canvas.height};
  const Picture large = resample(picture, size.width, size.height, options.interpolation);
  const std::int64_t left = (canvas.width - size.width) / 2;
  const std::int64_t top = (canvas.height - size.height) / 2;
  std::vector<Pixels> all;
  all.push_back(normalised(resample(picture, tile.width, tile.height, options.interpolation), options));
  for (std::int64_t row = 0; row < grid.rows; ++row) {
    for (std::int64_t column = 0; column < grid.columns; ++column) {
      all.push_back(normalised(window(large, tile, column * tile.width - left, row * tile.height - top), options));
      all.back().tile = {grid.rows, grid.columns, row, column};
    }
  }
  return all;
}

// The picture in tiles of `side` pixels row by row, followed by the whole.
std::vector<Picture> tiles_of(const Picture& picture, const Preprocessing& options) {
  const std::int64_t side = options.tile;
  std::vector<Picture> tiles;
  if (options.split && (picture.width > side || picture.height > side)) {
    for (std::int64_t top = 0; top + side <= picture.height; top += side) {
      for (std::int64_t left = 0; left + side <= picture.width; left += side) {
        tiles.push_back(window(picture, {side, side}, left, top));
      }
    }
  }
  tiles.push_back(resample(picture, side, side, options.interpolation));
  return tiles;
}

}  // namespace

Result<std::vector<Pixels>> preprocess_all(const Picture& picture, const Preprocessing& options, std::int64_t patch) {
  std::vector<Pixels> all;
  if (options.rule == ResizeRule::kCanvas || options.rule == ResizeRule::kPinpoints) {
    LOCUS_CHECK(check(picture, options, patch));
    if (options.width % patch != 0 || options.height % patch != 0) {
      return bad_input("expected tiles of whole patches of " + std::to_string(patch) + " pixels, found tiles of " +
                       std::to_string(options.width) + " × " + std::to_string(options.height));
    }
    return options.rule == ResizeRule::kCanvas
               ? canvas_tiles(picture, options, canvas_of(picture.width, picture.height, options),
                              {options.width, options.height})
               : pinpoint_tiles(picture, options);
  }
  if (options.rule == ResizeRule::kTokens) {
    LOCUS_CHECK(check(picture, options, patch));
    const Size own{picture.width, picture.height};
    LOCUS_TRY(const TilePlace grid, token_tiles(own, options));
    if (grid.rows * grid.columns > 1) {
      const Size whole = whole_by_tokens(own, options);
      if (whole.width > kPixelLimit / whole.height) {
        return too_large("expected at most " + std::to_string(kPixelLimit) + " pixels behind the tiles, found " +
                         std::to_string(whole.width) + " × " + std::to_string(whole.height));
      }
      return canvas_tiles(picture, options, grid, whole);
    }
  }
  if (options.rule != ResizeRule::kTiles) {
    LOCUS_TRY(Pixels whole, preprocess(picture, options, patch));
    all.push_back(std::move(whole));
    return all;
  }
  LOCUS_CHECK(check(picture, options, patch));
  Picture large = picture;
  if (options.resize) {
    LOCUS_TRY(const std::vector<Size> sizes, tile_sizes({picture.width, picture.height}, options));
    for (const Size& size : sizes) {
      large = resample(large, size.width, size.height, options.interpolation);
    }
  }
  for (Picture& each : tiles_of(large, options)) {
    all.push_back(normalised(std::move(each), options));
  }
  return all;
}

namespace {

Status in_one_part(std::int64_t width, std::int64_t height, const Preprocessing& options) {
  if (options.rule == ResizeRule::kTiles) {
    return unsupported("expected a picture in one part, found a family that cuts it into tiles");
  }
  const bool by_tokens = options.rule == ResizeRule::kTokens;
  const bool cuts = by_tokens || options.rule == ResizeRule::kCanvas || options.rule == ResizeRule::kPinpoints;
  if (!cuts || width < 1 || height < 1) {
    return {};
  }
  LOCUS_TRY(const TilePlace grid,
            by_tokens ? token_tiles({width, height}, options) : Result<TilePlace>(canvas_of(width, height, options)));
  return grid.rows * grid.columns == 1 && options.rule != ResizeRule::kPinpoints
             ? Status()
             : unsupported("expected a picture in one part, found one in " + std::to_string(grid.rows) + " × " +
                           std::to_string(grid.columns) + " tiles");
}

// Behind the resizing, at least one pixel.
Result<Size> resized_size(std::int64_t width, std::int64_t height, const Preprocessing& options, std::int64_t cell) {
  LOCUS_TRY(const Size size,
            options.resize ? resized({width, height, {}}, options, cell) : Result<Size>(Size{width, height}));
  if (width < 1 || height < 1 || size.width < 1 || size.height < 1) {
    return bad_input("expected a picture with pixels, found " + std::to_string(width) + " × " + std::to_string(height));
  }
  return size;
}

}  // namespace

Result<PatchSize> patch_size(std::int64_t width, std::int64_t height, const Preprocessing& options, std::int64_t cell) {
  LOCUS_TRY(const Size size, resized_size(width, height, options, cell));
  const auto of = [&](std::int64_t own, std::int64_t seen) {
    return static_cast<double>(cell) * static_cast<double>(own) / static_cast<double>(seen);
  };
  return PatchSize{of(width, size.width), of(height, size.height)};
}

Result<PatchGrid> patch_grid(std::int64_t width, std::int64_t height, const Preprocessing& options, std::int64_t cell,
                             std::int64_t patch) {
  LOCUS_CHECK(in_one_part(width, height, options));
  LOCUS_TRY(const Size size, resized_size(width, height, options, cell));
  const auto along = [&](std::int64_t own, std::int64_t seen, std::int64_t cropped, double& first, double& step) {
    const std::int64_t before = options.rule == ResizeRule::kPadded ? -padding(padded_side(size), seen) : 0;
    const auto margin_px = static_cast<double>(options.center_crop ? margin(seen, cropped) : before);
    const auto side = static_cast<double>(patch);
    step = static_cast<double>(seen) / static_cast<double>(own) / side;
    first = 0.5 * step - margin_px / side - 0.5;
  };
  PatchGrid grid;
  along(width, size.width, options.crop_width, grid.x0, grid.dx);
  along(height, size.height, options.crop_height, grid.y0, grid.dy);
  return grid;
}

Result<Pixels> preprocess(const Picture& picture, const Preprocessing& options, std::int64_t patch) {
  LOCUS_CHECK(check(picture, options, patch));
  LOCUS_CHECK(in_one_part(picture.width, picture.height, options));
  Picture shown = picture;
  if (options.resize) {
    LOCUS_TRY(const Size size, resized(picture, options, patch));
    shown = resample(picture, size.width, size.height, options.interpolation);
  }
  if (options.rule == ResizeRule::kPadded) {
    const std::int64_t side = padded_side({shown.width, shown.height});
    shown = window(shown, {side, side}, -padding(side, shown.width), -padding(side, shown.height), options.ground);
  }
  if (options.center_crop) {
    const Size size{options.crop_width, options.crop_height};
    shown = window(shown, size, margin(shown.width, size.width), margin(shown.height, size.height));
  }
  const Size whole{shown.width - shown.width % patch, shown.height - shown.height % patch};
  if (whole.width == 0 || whole.height == 0) {
    return bad_input("expected at least one patch of " + std::to_string(patch) + " pixels, found an image of " +
                     std::to_string(shown.width) + " × " + std::to_string(shown.height));
  }
  if (whole.width != shown.width || whole.height != shown.height) {
    shown = window(shown, whole, 0, 0);  // a strided convolution ignores the rest on the right and below
  }
  return normalised(std::move(shown), options);
}

}  // namespace locus::image
