#include "renderers/paper/map_image.h"

#include <algorithm>
#include <cmath>

#include "renderers/figure/hatch.h"
#include "renderers/figure/pyramid.h"

namespace locus::paper {
namespace {

using figure::CellRect;
using figure::Color;
using figure::MapMark;
using figure::Rect;

QRgb premultiplied(Color color, double opacity) {
  const double alpha = (color & 0xFF) / 255.0 * opacity;
  const auto channel = [&](int shift) { return static_cast<int>(std::lround((color >> shift & 0xFF) * alpha)); };
  return qRgba(channel(24), channel(16), channel(8), static_cast<int>(std::lround(255 * alpha)));
}

// The colours a value can have, with the colormap looked up once.
class Painter {
 public:
  explicit Painter(const MapMark& mark)
      : mark_(mark),
        map_(figure::colormaps()[figure::colormap_index(mark.scale.colormap)]),
        hatch_(figure::pixel_hatch(mark.hatch, 1)) {}

  // Colour of the pixel with that centre.
  QRgb operator()(float value, double x, double y) const {
    const float t = figure::normalised(mark_.scale, value);
    const Color none = hatch_.on_line(x, y) ? mark_.hatch.color : mark_.scale.mask_color;
    return premultiplied(std::isnan(t) ? none : figure::color_at(map_, t), mark_.opacity);
  }

 private:
  const MapMark& mark_;
  const figure::Colormap& map_;
  const figure::PixelHatch hatch_;
};

// Whether the pixel sampled at `cell` has its centre on the map.
bool covers(double cell, double cells_per_pixel, std::int64_t cells) {
  const double center = cell - figure::kSampleShift * cells_per_pixel;
  return center >= 0 && center < static_cast<double>(cells);
}

// One axis: the cells [first, first + count) that touch [low, high] of the canvas.
struct Span {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

Span visible(double begin, double end, std::int64_t cells, double low, double high) {
  const double per_unit = static_cast<double>(cells) / (end - begin);
  double from = (low - begin) * per_unit;
  double to = (high - begin) * per_unit;
  if (from > to) {
    std::swap(from, to);
  }
  const auto limit = static_cast<double>(cells);
  const auto first = static_cast<std::int64_t>(std::clamp(std::floor(from + 1e-6), 0.0, limit));
  const auto last = static_cast<std::int64_t>(std::clamp(std::ceil(to - 1e-6), 0.0, limit));
  return {first, std::max<std::int64_t>(0, last - first)};
}

int levels_to_fit(std::int64_t cells) {
  int level = 0;
  while (figure::level_size(cells, level) > kMaxCells) {
    ++level;
  }
  return level;
}

std::uint8_t index_of(const figure::ColorScale& scale, float value) {
  const float t = figure::normalised(scale, value);
  return std::isnan(t) ? 255 : static_cast<std::uint8_t>(std::lround(t * 254));
}

void fill_palette(const MapMark& mark, IndexedMap& map) {
  const figure::Colormap& colors = figure::colormaps()[figure::colormap_index(mark.scale.colormap)];
  for (std::size_t n = 0; n < 255; ++n) {
    map.palette[n] = figure::color_at(colors, static_cast<float>(n) / 254.0F);
  }
  map.palette[255] = mark.scale.mask_color;
}

}  // namespace

Rect extent(double x_begin, double x_end, double y_begin, double y_end) {
  return {std::min(x_begin, x_end), std::min(y_begin, y_end), std::abs(x_end - x_begin), std::abs(y_end - y_begin)};
}

QImage pixel_image(const MapMark& mark, const Rect& area) {
  const int width = static_cast<int>(area.width);
  const int height = static_cast<int>(area.height);
  QImage image(width, height, QImage::Format_ARGB32_Premultiplied);
  image.fill(0);
  const Field& field = *mark.field;
  const double columns_per_pixel = static_cast<double>(field.columns) / (mark.x_end - mark.x_begin);
  const double rows_per_pixel = static_cast<double>(field.rows) / (mark.y_end - mark.y_begin);
  const bool reduces = std::abs(columns_per_pixel) > 1 || std::abs(rows_per_pixel) > 1;
  const figure::Pyramid pyramid(mark.field, {0, 0, field.rows, field.columns}, mark.reduction,
                                reduces ? figure::Pyramid::kMaxLevels : 0);
  const Painter paint(mark);
  for (int y = 0; y < height; ++y) {
    const double row = (area.y + y + 0.5 + figure::kSampleShift - mark.y_begin) * rows_per_pixel;
    if (!covers(row, rows_per_pixel, field.rows)) {
      continue;
    }
    auto* line = reinterpret_cast<QRgb*>(image.scanLine(y));
    for (int x = 0; x < width; ++x) {
      const double column = (area.x + x + 0.5 + figure::kSampleShift - mark.x_begin) * columns_per_pixel;
      if (covers(column, columns_per_pixel, field.columns)) {
        line[x] = paint(pyramid.sample(row, column, std::abs(rows_per_pixel), std::abs(columns_per_pixel)),
                        area.x + x + 0.5, area.y + y + 0.5);
      }
    }
  }
  return image;
}

IndexedMap data_image(const MapMark& mark, const Rect& clip) {
  const Field& field = *mark.field;
  const Span columns = visible(mark.x_begin, mark.x_end, field.columns, clip.x, clip.right());
  const Span rows = visible(mark.y_begin, mark.y_end, field.rows, clip.y, clip.bottom());
  IndexedMap map;
  if (columns.count == 0 || rows.count == 0) {
    return map;
  }
  fill_palette(mark, map);
  const CellRect part{rows.first, columns.first, rows.count, columns.count};
  const int level = std::max(levels_to_fit(rows.count), levels_to_fit(columns.count));
  const figure::Pyramid pyramid(mark.field, part, mark.reduction, level);
  map.width = figure::level_size(part.columns, level);
  map.height = figure::level_size(part.rows, level);
  map.cells.resize(static_cast<std::size_t>(map.width * map.height));
  const bool mirror_x = mark.x_end < mark.x_begin;
  const bool mirror_y = mark.y_end < mark.y_begin;
  for (std::int64_t r = 0; r < map.height; ++r) {
    const float* values = level == 0
                              ? &field.values[static_cast<std::size_t>((part.row + r) * field.columns + part.column)]
                              : &pyramid.levels().back().values[static_cast<std::size_t>(r * map.width)];
    std::uint8_t* out = &map.cells[static_cast<std::size_t>((mirror_y ? map.height - 1 - r : r) * map.width)];
    for (std::int64_t c = 0; c < map.width; ++c) {
      out[mirror_x ? map.width - 1 - c : c] = index_of(mark.scale, values[c]);
    }
  }
  const double column_width = (mark.x_end - mark.x_begin) / static_cast<double>(field.columns);
  const double row_height = (mark.y_end - mark.y_begin) / static_cast<double>(field.rows);
  const double x = mark.x_begin + column_width * static_cast<double>(part.column);
  const double y = mark.y_begin + row_height * static_cast<double>(part.row);
  map.place = extent(x, x + column_width * static_cast<double>(part.columns), y,
                     y + row_height * static_cast<double>(part.rows));
  return map;
}

QImage photo(const figure::ImageMark& mark) {
  const QImage image(mark.rgba->data(), static_cast<int>(mark.width), static_cast<int>(mark.height),
                     static_cast<qsizetype>(mark.width * 4), QImage::Format_RGBA8888);
  return image.mirrored(mark.x_end < mark.x_begin, mark.y_end < mark.y_begin);
}

}  // namespace locus::paper
