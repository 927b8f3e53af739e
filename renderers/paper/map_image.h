// A heat map as pixels, on the CPU: at the resolution of the paper's pixels (PNG) or of the data (PDF, SVG).
#pragma once

#include <QImage>
#include <array>
#include <cstdint>
#include <vector>

#include "renderers/figure/scene.h"

namespace locus::paper {

// The colours of the pixels of `area` (whole pixels; `mark` is in the same pixel units), as the fragment shader
// computes them: cells, or their reduction where a pixel covers several. Premultiplied ARGB; transparent outside the
// map.
QImage pixel_image(const figure::MapMark& mark, const figure::Rect& area);

// The visible cells, one byte a cell: 0 to 254 is t in steps of 1/254, 255 a cell without a value. Nearest-neighbour
// scaling onto `place` draws the map; row 0 is on top and column 0 on the left of it.
struct IndexedMap {
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::vector<std::uint8_t> cells;
  std::array<figure::Color, 256> palette{};
  figure::Rect place;
};

// Cells that do not touch `clip` are left out; more than kMaxCells along an axis are reduced first (by halves).
inline constexpr std::int64_t kMaxCells = 8192;
IndexedMap data_image(const figure::MapMark& mark, const figure::Rect& clip);

// An RGBA image, mirrored where the mark is, and the rectangle it fills.
QImage photo(const figure::ImageMark& mark);
figure::Rect extent(double x_begin, double x_end, double y_begin, double y_end);

}  // namespace locus::paper
