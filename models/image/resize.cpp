#include "models/image/resize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

namespace locus::image {

namespace {

constexpr double kThinnest = 200;
constexpr std::int64_t kLongestTiled = 4096;

std::string text_of(Size size) {
  return std::to_string(size.width) + " × " + std::to_string(size.height);
}

// The whole number nearest to a/b, halves to even.
std::int64_t half_even(std::int64_t a, std::int64_t b) {
  const std::int64_t below = a / b;
  const std::int64_t twice = 2 * (a - below * b);
  return below + (twice > b || (twice == b && below % 2 != 0) ? 1 : 0);
}

Result<Size> by_pixels(Size picture, const Preprocessing& options, std::int64_t cell) {
  const auto longer = static_cast<double>(std::max(picture.width, picture.height));
  const auto shorter = static_cast<double>(std::min(picture.width, picture.height));
  if (longer / shorter > kThinnest) {
    return bad_input("expected sides that differ by a factor of at most 200, found " + text_of(picture));
  }
  const bool counts_frames = options.frames > 1;
  if (counts_frames && (picture.width < cell || picture.height < cell)) {
    return bad_input("expected a picture of at least " + text_of({cell, cell}) + " pixels, found " + text_of(picture));
  }
  Size size{half_even(picture.width, cell) * cell, half_even(picture.height, cell) * cell};
  const auto frames = static_cast<double>(options.frames);
  const double pixels = frames * static_cast<double>(size.width) * static_cast<double>(size.height);
  const double own = frames * static_cast<double>(picture.width) * static_cast<double>(picture.height);
  const auto unit = static_cast<double>(cell);
  if (pixels > static_cast<double>(options.most_pixels)) {
    const double part = std::sqrt(own / static_cast<double>(options.most_pixels));
    const auto fewer = [&](std::int64_t side) {
      return std::max(cell, static_cast<std::int64_t>(std::floor(static_cast<double>(side) / part / unit)) * cell);
    };
    size = {fewer(picture.width), fewer(picture.height)};
  } else if (pixels < static_cast<double>(options.least_pixels)) {
    const double part = std::sqrt(static_cast<double>(options.least_pixels) / own);
    const auto more = [&](std::int64_t side) {
      return static_cast<std::int64_t>(std::ceil(static_cast<double>(side) * part / unit)) * cell;
    };
    size = {more(picture.width), more(picture.height)};
  }
  return size;
}

// The largest factor of the picture at which its cells, rounded up, are at most `most_patches`, found as the library
// finds it.
Size by_patches(Size picture, const Preprocessing& options, std::int64_t cell) {
  constexpr double kStep = 1e-5;
  const auto unit = static_cast<double>(cell);
  const auto cells = [&](double factor, std::int64_t side) {
    return std::max(1.0, std::ceil(static_cast<double>(side) * factor / unit));
  };
  double low = kStep / 10;
  double high = 100;
  while (high - low >= kStep) {
    const double factor = (low + high) / 2;
    const bool fits =
        cells(factor, picture.height) * cells(factor, picture.width) <= static_cast<double>(options.most_patches);
    (fits ? low : high) = factor;
  }
  return {static_cast<std::int64_t>(cells(low, picture.width)) * cell,
          static_cast<std::int64_t>(cells(low, picture.height)) * cell};
}

// Whether a picture in cells has far more pixels than the model reads at once, counted as the library counts them.
bool is_cut(Size picture, const Preprocessing& options) {
  const auto side = [&](std::int64_t own) {
    return static_cast<double>(std::max(options.patch, half_even(own, options.cell) * options.cell));
  };
  return options.split &&
         side(picture.height) * side(picture.width) > static_cast<double>(options.most_pixels) * options.tolerance;
}

// Both sides times one factor, at which they would have the pixels of `most_patches` cells, then down to whole cells; a
// side without one gets one, and the other as many as it is longer.
Result<Size> by_cells(Size picture, const Preprocessing& options, std::int64_t cell) {
  if (picture.width < 1 || picture.height < 1) {
    return bad_input("expected a picture with pixels, found " + text_of(picture));
  }
  const auto width = static_cast<double>(picture.width);
  const auto height = static_cast<double>(picture.height);
  const auto unit = static_cast<double>(cell);
  const double most = static_cast<double>(options.most_patches) * unit * unit;
  const double factor = std::sqrt(most / (height * width));
  const auto whole = [unit](double side) { return static_cast<std::int64_t>(std::floor(side / unit)); };
  std::int64_t rows = whole(factor * height);
  std::int64_t columns = whole(factor * width);
  if (rows == 0 && columns == 0) {
    return bad_input("expected a picture of at least one cell of " + text_of({cell, cell}) + ", found " +
                     text_of(picture));
  }
  if (rows == 0) {
    rows = 1;
    columns = std::min(static_cast<std::int64_t>(std::floor(width / height)), options.most_patches);
  } else if (columns == 0) {
    columns = 1;
    rows = std::min(static_cast<std::int64_t>(std::floor(height / width)), options.most_patches);
  }
  return Size{columns * cell, rows * cell};
}

Size by_longest(Size picture, const Preprocessing& options, std::int64_t cell) {
  const auto edge = static_cast<double>(options.longest_edge);
  const double ratio = std::max(static_cast<double>(picture.height) / edge, static_cast<double>(picture.width) / edge);
  Size size = picture;
  if (ratio > 1) {
    size = {static_cast<std::int64_t>(std::floor(static_cast<double>(picture.width) / ratio)),
            static_cast<std::int64_t>(std::floor(static_cast<double>(picture.height) / ratio))};
  }
  const auto whole = [cell](std::int64_t side) { return ((std::max<std::int64_t>(side, 1) - 1) / cell + 1) * cell; };
  return {whole(size.width), whole(size.height)};
}

}  // namespace

Result<std::vector<Size>> tile_sizes(Size picture, const Preprocessing& options) {
  const double ratio = static_cast<double>(picture.width) / static_cast<double>(picture.height);
  const std::int64_t edge = std::min(options.longest_edge, kLongestTiled);
  const auto even = [](double side) {
    const auto whole = std::max<std::int64_t>(static_cast<std::int64_t>(side), 1);
    return whole + whole % 2;
  };
  const bool wide = picture.width >= picture.height;
  const Size size =
      wide ? Size{edge, even(static_cast<double>(edge) / ratio)} : Size{even(static_cast<double>(edge) * ratio), edge};
  const auto whole = [&](std::int64_t side) { return ((side - 1) / options.tile + 1) * options.tile; };
  Size large{options.tile, options.tile};
  if (options.split) {
    const double own = static_cast<double>(size.width) / static_cast<double>(size.height);
    if (size.width >= size.height) {
      large.width = whole(size.width);
      large.height =
          whole(std::max<std::int64_t>(static_cast<std::int64_t>(static_cast<double>(large.width) / own), 1));
    } else {
      large.height = whole(size.height);
      large.width =
          whole(std::max<std::int64_t>(static_cast<std::int64_t>(static_cast<double>(large.height) * own), 1));
    }
  }
  if (large.width > kPixelLimit / large.height) {
    return too_large("expected at most " + std::to_string(kPixelLimit) + " pixels after resizing, found " +
                     text_of(large));
  }
  return std::vector<Size>{size, large};
}

namespace {

TilePlace pinpoint_of(std::int64_t width, std::int64_t height, const Preprocessing& options) {
  TilePlace best{1, 1, 0, 0};
  std::int64_t most = 0;
  std::int64_t least_wasted = std::numeric_limits<std::int64_t>::max();
  for (const auto& [high, wide] : options.pinpoints) {
    const double scale = std::min(static_cast<double>(wide) / static_cast<double>(width),
                                  static_cast<double>(high) / static_cast<double>(height));
    const auto scaled = [scale](std::int64_t side) {
      return static_cast<std::int64_t>(static_cast<double>(side) * scale);
    };
    const std::int64_t kept = std::min(scaled(width) * scaled(height), width * height);
    const std::int64_t wasted = wide * high - kept;
    if (kept > most || (kept == most && wasted < least_wasted)) {
      most = kept;
      least_wasted = wasted;
      best = {high / options.height, wide / options.width, 0, 0};
    }
  }
  return best;
}

// The share of the picture's size that a canvas allows along its tighter edge: at least 1 enlarges.
TilePlace least_scaled_canvas(std::int64_t width, std::int64_t height, const Preprocessing& options) {
  TilePlace best{1, 1, 0, 0};
  double nearest = 0;
  bool holds = false;
  for (std::int64_t count = 1; count <= options.most_tiles; ++count) {
    for (std::int64_t columns = 1; columns <= count; ++columns) {
      if (count % columns != 0) {
        continue;
      }
      const std::int64_t rows = count / columns;
      const double scale = std::min(static_cast<double>(columns * options.height) / static_cast<double>(width),
                                    static_cast<double>(rows * options.height) / static_cast<double>(height));
      const bool better = scale >= 1 ? !holds || scale < nearest : !holds && scale > nearest;
      if (better) {
        nearest = scale;
        holds = scale >= 1;
        best = {rows, columns, 0, 0};
      }
    }
  }
  return best;
}

}  // namespace

CellWindow covered_cells(std::int64_t rows, std::int64_t columns, std::int64_t width, std::int64_t height) {
  const auto wide = static_cast<double>(width);
  const auto high = static_cast<double>(height);
  // The library rounds to seven decimals before it cuts them off.
  const auto whole = [](double cells) { return static_cast<std::int64_t>(std::nearbyint(cells * 1e7) / 1e7); };
  CellWindow window{0, 0, rows, columns};
  if (wide / high > static_cast<double>(columns) / static_cast<double>(rows)) {
    window.top = (rows - whole(high * (static_cast<double>(columns) / wide))) / 2;
    window.rows -= 2 * window.top;
  } else {
    window.left = (columns - whole(wide * (static_cast<double>(rows) / high))) / 2;
    window.columns -= 2 * window.left;
  }
  return window;
}

TilePlace canvas_of(std::int64_t width, std::int64_t height, const Preprocessing& options) {
  if (options.rule == ResizeRule::kPinpoints) {
    return pinpoint_of(width, height, options);
  }
  if (options.least_scaled) {
    return least_scaled_canvas(width, height, options);
  }
  const double aspect = static_cast<double>(width) / static_cast<double>(height);
  const double pixels = static_cast<double>(width) * static_cast<double>(height);
  const double tile = static_cast<double>(options.width) * static_cast<double>(options.height);
  TilePlace best{1, 1, 0, 0};
  double nearest = std::numeric_limits<double>::infinity();
  for (std::int64_t count = 1; count <= options.most_tiles; ++count) {
    for (std::int64_t columns = 1; columns <= count && count >= options.least_tiles; ++columns) {
      if (count % columns != 0) {
        continue;
      }
      const std::int64_t rows = count / columns;
      const double apart = std::abs(aspect - static_cast<double>(columns) / static_cast<double>(rows));
      const bool larger = apart == nearest && pixels > 0.5 * tile * static_cast<double>(count);
      if (apart < nearest || larger) {
        nearest = apart;
        best = {rows, columns, 0, 0};
      }
    }
  }
  return best;
}

Result<TilePlace> token_tiles(Size picture, const Preprocessing& options) {
  if (!is_cut(picture, options)) {
    return TilePlace{1, 1, 0, 0};
  }
  const TilePlace grid = canvas_of(picture.width, picture.height, options);
  const std::int64_t count = grid.rows * grid.columns;
  if (count == 1) {  // the library's processor writes tokens for another number of cells
    return unsupported("min_tiles: expected 2 or more for a picture of " + text_of(picture) + " pixels, found " +
                       std::to_string(options.least_tiles));
  }
  const double aspect = static_cast<double>(picture.width) / static_cast<double>(picture.height);
  const auto apart = [&](std::int64_t columns) {
    const std::int64_t rows = count / columns;
    return std::abs(aspect - static_cast<double>(columns) / static_cast<double>(rows));
  };
  for (std::int64_t columns = 1; columns <= count; ++columns) {
    // The library takes the one or the other by the order of a set.
    if (count % columns == 0 && columns != grid.columns && apart(columns) == apart(grid.columns)) {
      return unsupported("min_tiles, max_tiles: expected one grid nearest to a picture of " + text_of(picture) +
                         " pixels, found " + text_of({grid.columns, grid.rows}) + " and " +
                         text_of({columns, count / columns}) + " tiles");
    }
  }
  return grid;
}

Size whole_by_tokens(Size picture, const Preprocessing& options) {
  const std::int64_t cell = options.cell;
  const auto unit = static_cast<double>(cell);
  const auto nearest = [cell](std::int64_t side) { return std::max(cell, half_even(side, cell) * cell); };
  const Size size{nearest(picture.width), nearest(picture.height)};
  const double pixels = static_cast<double>(size.width) * static_cast<double>(size.height);
  const double own = static_cast<double>(picture.width) * static_cast<double>(picture.height);
  if (pixels > static_cast<double>(options.most_pixels)) {
    const double part = std::sqrt(own / static_cast<double>(options.most_pixels));
    const auto fewer = [&](std::int64_t side) {
      return std::max(cell, static_cast<std::int64_t>(std::floor(static_cast<double>(side) / part / unit)) * cell);
    };
    return {fewer(picture.width), fewer(picture.height)};
  }
  if (pixels < static_cast<double>(options.least_pixels)) {
    const double part = std::sqrt(static_cast<double>(options.least_pixels) / own);
    const auto more = [&](std::int64_t side) {
      return static_cast<std::int64_t>(std::ceil(static_cast<double>(side) * part / unit)) * cell;
    };
    return {more(picture.width), more(picture.height)};
  }
  return size;
}

Result<Size> size_by_rule(Size picture, const Preprocessing& options, std::int64_t cell) {
  switch (options.rule) {
    case ResizeRule::kPixels:
      return by_pixels(picture, options, cell);
    case ResizeRule::kPatches:
      return by_patches(picture, options, cell);
    case ResizeRule::kCells:
      return by_cells(picture, options, cell);
    case ResizeRule::kLongest:
      return by_longest(picture, options, cell);
    case ResizeRule::kTiles: {
      LOCUS_TRY(const std::vector<Size> sizes, tile_sizes(picture, options));
      return sizes.back();
    }
    case ResizeRule::kCanvas:
    case ResizeRule::kPinpoints: {
      const TilePlace grid = canvas_of(picture.width, picture.height, options);
      return Size{grid.columns * options.width, grid.rows * options.height};
    }
    case ResizeRule::kTokens: {
      if (options.cell != cell) {
        return bad_input("encoder_patch_size, downsample_factor: expected a product of " + std::to_string(cell) +
                         " pixels, as the model's cells have, found " + std::to_string(options.cell));
      }
      if (picture.width < 1 || picture.height < 1) {
        return bad_input("expected a picture with pixels, found " + text_of(picture));
      }
      LOCUS_TRY(const TilePlace grid, token_tiles(picture, options));
      return grid.rows * grid.columns == 1 ? whole_by_tokens(picture, options)
                                           : Size{grid.columns * options.width, grid.rows * options.height};
    }
    case ResizeRule::kPadded: {
      const double scale =
          static_cast<double>(options.longest_edge) / static_cast<double>(std::max(picture.width, picture.height));
      const auto along = [&](std::int64_t side) {
        const auto scaled = static_cast<std::int64_t>(std::nearbyint(static_cast<double>(side) * scale));
        return std::max(scaled, options.least_edge);
      };
      return Size{along(picture.width), along(picture.height)};
    }
    case ResizeRule::kSize:
      break;
  }
  return Size{options.width, options.height};
}

namespace {

double sinc(double x) {
  return x == 0 ? 1 : std::sin(std::numbers::pi * x) / (std::numbers::pi * x);
}

double kernel(Interpolation interpolation, double x) {
  x = std::abs(x);
  switch (interpolation) {
    case Interpolation::kNearest:
      return x <= 0.5 ? 1 : 0;
    case Interpolation::kBilinear:
      return x < 1 ? 1 - x : 0;
    case Interpolation::kBicubic: {
      constexpr double a = -0.5;
      return x < 1 ? ((a + 2) * x - (a + 3)) * x * x + 1 : x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
    }
    case Interpolation::kLanczos:
      return x < 3 ? sinc(x) * sinc(x / 3) : 0;
  }
  return 0;
}

double support_of(Interpolation interpolation) {
  constexpr std::array<double, 4> kSupport{0.5, 1, 2, 3};  // in the order of the enumeration
  return kSupport[static_cast<std::size_t>(interpolation)];
}

// The input range of one output pixel.
struct Taps {
  std::int64_t first = 0;
  std::vector<std::int32_t> weights;  // in units of 2^−22; sums of 255 times them fit into 32 bits, as in Pillow
};

constexpr int kWeightBits = 22;
constexpr std::int32_t kHalf = std::int32_t{1} << (kWeightBits - 1);

std::int32_t fixed(double weight) {
  return static_cast<std::int32_t>(std::llround(weight * static_cast<double>(std::int64_t{1} << kWeightBits)));
}

std::vector<Taps> taps_of(std::int64_t from, std::int64_t to, Interpolation interpolation) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double stretch = std::max(scale, 1.0);
  const double support = support_of(interpolation) * stretch;
  std::vector<Taps> all(static_cast<std::size_t>(to));
  for (std::int64_t n = 0; n < to; ++n) {
    Taps& taps = all[static_cast<std::size_t>(n)];
    const double center = (static_cast<double>(n) + 0.5) * scale;
    if (interpolation == Interpolation::kNearest) {
      taps = {std::min(static_cast<std::int64_t>(center), from - 1), {fixed(1)}};
      continue;
    }
    taps.first = std::max<std::int64_t>(static_cast<std::int64_t>(std::floor(center - support + 0.5)), 0);
    const std::int64_t last = std::min(static_cast<std::int64_t>(std::floor(center + support + 0.5)), from);
    double sum = 0;
    std::vector<double> weights;
    for (std::int64_t at = taps.first; at < last; ++at) {
      weights.push_back(kernel(interpolation, (static_cast<double>(at) - center + 0.5) / stretch));
      sum += weights.back();
    }
    for (const double weight : weights) {
      taps.weights.push_back(fixed(weight / sum));
    }
  }
  return all;
}

std::uint8_t rounded(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp<std::int32_t>(sum >> kWeightBits, 0, 255));
}

// Each row to as many pixels as there are taps.
void resample_rows(const Picture& picture, const std::vector<Taps>& taps, std::vector<std::uint8_t>& to) {
  std::uint8_t* result = to.data();
  for (std::int64_t y = 0; y < picture.height; ++y) {
    const std::uint8_t* const row = picture.rgba.data() + 4 * y * picture.width;
    for (const Taps& each : taps) {
      std::int32_t sums[4] = {kHalf, kHalf, kHalf, kHalf};
      const std::uint8_t* pixel = row + 4 * each.first;
      for (const std::int32_t weight : each.weights) {
        for (int channel = 0; channel < 4; ++channel) {
          sums[channel] += weight * pixel[channel];
        }
        pixel += 4;
      }
      for (int channel = 0; channel < 4; ++channel) {
        result[channel] = rounded(sums[channel]);
      }
      result += 4;
    }
  }
}

// Each column likewise: parts of rows are added, in the order of memory.
void resample_columns(const Picture& picture, const std::vector<Taps>& taps, std::vector<std::uint8_t>& to) {
  constexpr std::int64_t kPart = 256;
  const std::int64_t line = 4 * picture.width;
  std::uint8_t* result = to.data();
  for (const Taps& each : taps) {
    for (std::int64_t begin = 0; begin < line; begin += kPart) {
      const std::int64_t count = std::min(kPart, line - begin);
      std::array<std::int32_t, kPart> sums;
      sums.fill(kHalf);
      const std::uint8_t* row = picture.rgba.data() + each.first * line + begin;
      for (const std::int32_t weight : each.weights) {
        for (std::int64_t n = 0; n < count; ++n) {
          sums[static_cast<std::size_t>(n)] += weight * row[n];
        }
        row += line;
      }
      for (std::int64_t n = 0; n < count; ++n) {
        result[begin + n] = rounded(sums[static_cast<std::size_t>(n)]);
      }
    }
    result += line;
  }
}

Picture blank(std::int64_t width, std::int64_t height) {
  return {width, height, std::vector<std::uint8_t>(static_cast<std::size_t>(width * height * 4))};
}

}  // namespace

Picture resample(const Picture& picture, std::int64_t width, std::int64_t height, Interpolation interpolation) {
  Picture wide = picture;
  if (width != picture.width) {
    wide = blank(width, picture.height);
    resample_rows(picture, taps_of(picture.width, width, interpolation), wide.rgba);
  }
  if (height == picture.height) {
    return wide;
  }
  Picture result = blank(width, height);
  resample_columns(wide, taps_of(picture.height, height, interpolation), result.rgba);
  return result;
}

}  // namespace locus::image
