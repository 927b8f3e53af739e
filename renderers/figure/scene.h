// Scene: a laid-out Figure as a list of marks, each simple enough to be drawn alike on a GPU and on paper.
#pragma once

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "renderers/figure/layout.h"

namespace locus::figure {

struct FillMark {
  Rect rect;
  Color color = 0;
};

// A polyline with round joins. `dash` > 0: dashes of this length with gaps of 0.6 of it.
struct LineMark {
  std::vector<Point> points;
  Color color = 0;
  double width = 1;
  double dash = 0;
};

// The area between two curves over the same x, left to right.
struct AreaMark {
  std::vector<double> x;
  std::vector<double> low;
  std::vector<double> high;
  Color color = 0;
};

struct TextMark {
  PlacedText text;
};

// Lines at 45°, x + y a multiple of the period, of cells without a value; a period of 0: none.
struct Hatch {
  Color color = 0;
  double period = 0;
  double width = 0;
};

// A Field's cells as coloured rectangles: its first row begins at y_begin, its last ends at y_end (either may be the
// larger), columns alike; usually much larger than what the clip leaves.
struct MapMark {
  std::shared_ptr<const Field> field;
  std::shared_ptr<const Field> base;  // as HeatMap has them
  Range refined;
  ColorScale scale;
  Reduction reduction = Reduction::kMax;
  double opacity = 1;
  Hatch hatch;
  double x_begin = 0;
  double x_end = 0;
  double y_begin = 0;
  double y_end = 0;
};

// Renderers sample maps this far right of and below the pixels' centres, in pixels: where the edge of two cells meets a
// centre, all choose the same cell whatever their rounding.
inline constexpr double kSampleShift = 1.0 / 256;

struct ImageMark {
  std::shared_ptr<const std::vector<std::uint8_t>> rgba;
  std::int64_t width = 0;
  std::int64_t height = 0;
  double opacity = 1;
  double x_begin = 0;  // of the first column; x_end < x_begin mirrors
  double x_end = 0;
  double y_begin = 0;
  double y_end = 0;
};

struct Mark {
  std::variant<FillMark, LineMark, AreaMark, TextMark, MapMark, ImageMark> shape;
  Rect clip;
};

struct Scene {
  double width = 0;
  double height = 0;
  Color background = 0xFFFFFFFF;
  // In drawing order. Marks of the same kind of different panels lie together, so that a GPU needs few batches.
  std::vector<Mark> marks;
};

// The marks of a figure laid out by lay_out().
Scene compose(const Figure& figure, const Layout& layout);

}  // namespace locus::figure
