#include "models/image/resize_rules.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace locus::image {

namespace {

constexpr double kThinnest = 200;
constexpr std::int64_t kLongestTiled = 4096;

std::string text_of(Size size) {
  return std::to_string(size.width) + " × " + std::to_string(size.height);
}

// The whole number nearest to a/b, halves to the even one.
std::int64_t half_even(std::int64_t a, std::int64_t b) {
  const std::int64_t below = a / b;
  const std::int64_t twice = 2 * (a - below * b);
  return below + (twice > b || (twice == b && below % 2 != 0) ? 1 : 0);
}

Result<Size> by_pixels(Size picture, const Preprocessing& options, std::int64_t cell) {
  const auto longer = static_cast<double>(std::max(picture.width, picture.height));
  const auto shorter = static_cast<double>(std::min(picture.width, picture.height));
  if (longer / shorter > kThinnest) {
    return bad_input("expected a picture whose sides differ by a factor of at most 200, found " + text_of(picture));
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

Result<Size> size_by_rule(Size picture, const Preprocessing& options, std::int64_t cell) {
  switch (options.rule) {
    case ResizeRule::kPixels:
      return by_pixels(picture, options, cell);
    case ResizeRule::kLongest:
      return by_longest(picture, options, cell);
    case ResizeRule::kTiles: {
      LOCUS_TRY(const std::vector<Size> sizes, tile_sizes(picture, options));
      return sizes.back();
    }
    case ResizeRule::kSize:
      break;
  }
  return Size{options.width, options.height};
}

}  // namespace locus::image
