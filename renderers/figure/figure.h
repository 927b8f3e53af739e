// Figure: what a view shows, independent of where it is drawn. The Vulkan canvas and the paper exporter draw the same
// Figure through the same layout, so screen and paper agree.
//
// A Figure is a row-major grid of panels; a panel is a pair of axes with layers drawn in order, and at most one colour
// bar.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/base/field.h"
#include "core/base/range.h"
#include "core/base/reduction.h"
#include "renderers/figure/color_scale.h"

namespace locus::figure {

// The visible interval of an axis, in data units, from left to right or from bottom to top; low > high draws the axis
// reversed (y of a map with query 0 on top: {T, 0}).
struct Interval {
  double low = 0;
  double high = 1;

  friend bool operator==(const Interval&, const Interval&) = default;
};

// Cells of an axis that are one thing: those of a picture within a text. Beside the names of the cells a strip shows
// where it is, the picture where there is room for it, and its name.
struct AxisBlock {
  Interval cells;    // low < high, in data units
  std::string name;  // "image 1": names of cells that begin with it go on without it
  std::shared_ptr<const std::vector<std::uint8_t>> rgba;  // a small one, 8 bits a channel; null: none is known
  std::int64_t width = 0;
  std::int64_t height = 0;
};

struct Axis {
  std::string label;  // "key", "distance Δ (tokens)"
  Interval view;
  bool logarithmic = false;  // low and high must be positive; heat maps and images need linear axes
  double log_base = 10;      // 2 suits context lengths
  // Names of cells, shown instead of numbers when zoomed in far enough to be read (token labels); cell n covers [n,
  // n+1). Numeric ticks of a panel with a heat map of whole cells (integer first and step) also sit in the middle of
  // their cell.
  std::shared_ptr<const std::vector<std::string>> cell_names;
  // Where the camera counts other tokens than this map: for each whole coordinate of the camera, from 0, the coordinate
  // on this axis; rising, at least two. Null: both count the same.
  std::shared_ptr<const std::vector<double>> of_camera = nullptr;
  std::shared_ptr<const std::vector<AxisBlock>> blocks = nullptr;  // ascending; null: none
};

// From the camera's axis to this one and back; beyond the ends as the whole goes.
double from_camera(const Axis& axis, double camera);
double to_camera(const Axis& axis, double own);
// The part of this axis that the camera shows: at least a quarter of a cell.
Interval from_camera(const Axis& axis, const Interval& camera);

// A matrix of values as coloured cells. Cell (r, c) covers [column_axis.first + c·step, …) × [row_axis.first + r·step,
// …) of the Field. The values are shared, never copied per frame: a renderer may keep a texture for as long as the
// pointer is alive. Where a pixel covers several cells it shows their `reduction` (cells without a value do not count).
struct HeatMap {
  std::shared_ptr<const Field> field;
  ColorScale scale;
  Reduction reduction = Reduction::kMax;
  float opacity = 1;  // below 1: over an image; 0: its numbers and its colour bar alone
  // Numbers in the cells, one a cell, row-major: drawn while every cell has room for its own.
  std::shared_ptr<const std::vector<std::string>> texts = nullptr;
  // One more for each of `texts`: drawn beside or below it while every cell has room for both.
  std::shared_ptr<const std::vector<std::string>> details = nullptr;
  // Where the field holds shares, for colours alone: the numbers that they are shares of, a field of the same size.
  // Null: the field's own.
  std::shared_ptr<const Field> numbers = nullptr;
  // Text for a cell under the pointer, in place of the colour bar's label and its number, one a cell, row-major.
  std::shared_ptr<const std::vector<std::string>> said = nullptr;
  // A field that changes: `field` is `base` with the rows `refined` replaced by values that stay. A renderer that holds
  // a map of the same base writes the rows that differ alone. Null: the field is its own.
  std::shared_ptr<const Field> base = nullptr;
  Range refined = {};
  // Cells without a value are what a mask hides, and hatched. Why, in the legend: "not visible: window 5"; empty: not
  // said.
  bool masked = false;
  std::string hidden = {};
  // The edge of what is hidden: points in data units, NaN breaks the line.
  std::vector<double> edge_x = {};
  std::vector<double> edge_y = {};
};

// Colours of bars, curves and markers: 0 takes the next of the theme's palette (markers: the foreground). Named bars
// and curves make a legend.
struct Bars {  // a histogram
  std::string name;
  std::vector<double> edges;    // n + 1, ascending
  std::vector<double> heights;  // n
  std::uint32_t color = 0;      // RRGGBBAA
};

struct Curve {
  std::string name;
  std::vector<double> x;
  std::vector<double> y;    // NaN breaks the line
  std::vector<double> low;  // band, empty: none
  std::vector<double> high;
  std::uint32_t color = 0;
  float width_px = 1.5F;
  bool dashed = false;
  std::vector<double> base = {};  // of a stacked area: y stands on it, and between them it is filled; empty: a line
  std::vector<std::uint8_t> hollow = {};  // a dot at each point, 1: a ring; empty: none
  float dash = 1;                         // length of the dashes of a dashed curve, as a multiple of the usual

  double drawn_y(std::size_t n) const { return n < base.size() ? base[n] + y[n] : y[n]; }
};

// Points of their own sizes and colours: discs, rings, or discs with an empty half. What is not finite is left out.
struct Points {
  enum Hollow : std::uint8_t { kDisc, kRing, kLeftEmpty, kLowerEmpty };

  std::vector<double> x;
  std::vector<double> y;
  std::vector<double> x_low;  // the ends of intervals, a line each: crosses; empty: none
  std::vector<double> x_high;
  std::vector<double> y_low;
  std::vector<double> y_high;
  std::vector<float> values;         // on `scale`
  ColorScale scale;                  // a colour bar shows it
  std::vector<float> sizes_px;       // diameters, as a curve's width_px; empty: 8
  std::vector<std::uint8_t> hollow;  // Hollow; empty: discs
  std::vector<std::uint8_t> faint;   // 1: behind the others and pale; empty: none
  std::vector<std::string> names;    // beside the points; empty: none, and so is an empty name
};

struct Marker {  // a line across the panel: "trained length", a pinned query
  enum class Direction { kVertical, kHorizontal };
  Direction direction = Direction::kVertical;
  double at = 0;
  std::string label;
  std::uint32_t color = 0;
  bool dashed = true;
};

struct Box {  // a frame around a rectangle of data: the chosen patch
  Interval x;
  Interval y;
  std::uint32_t color = 0;  // 0: the palette's second, seen on dark and light
};

// Text, each token tinted by a value (NaN: not tinted); wraps at the panel's width, and after a token that ends in a
// line feed (or its label ⏎; several stay on their line). Where the height is given, the type is as large as lets the
// whole text be seen, within bounds, and the panel's axes say what of it is: y.view.low is the line at the top (below
// 0: as far down as shows `selected`), and the type is x.view's width times smaller.
struct TokenStrip {
  std::vector<std::string> tokens;
  std::vector<float> values;  // one a token
  ColorScale scale;
  std::int64_t selected = -1;
};

// An RGBA image (8 bits a channel), stretched over the given data rectangle, below a translucent heat map.
struct ImageLayer {
  std::shared_ptr<const std::vector<std::uint8_t>> rgba;
  std::int64_t width = 0;
  std::int64_t height = 0;
  Interval x;
  Interval y;
  float opacity = 1;
};

using Layer = std::variant<HeatMap, Bars, Curve, Points, Marker, Box, TokenStrip, ImageLayer>;

struct Panel {
  std::string title;
  std::vector<std::string> names = {};  // parts of it, in their order, that are shortened where it has no room
  std::string struck = {};              // a part of it that is struck through: a head that an edit silences
  Axis x;
  Axis y;
  bool equal_aspect = false;   // one data unit is the same length on both axes
  bool show_axes = true;       // ticks, labels and frame
  bool follows_camera = true;  // zooming and panning move its axes
  // Left free between the plot and what stands above it and right of it, in heights of text: for what is drawn there
  // over the figure.
  double room_above = 0;
  double room_right = 0;
  std::vector<Layer> layers;
  // Label of a colour bar, which shows the scale of the first HeatMap, TokenStrip or Points; empty: none.
  std::string color_bar_label;
  bool color_bar = false;  // a bar without a label
  std::string note;        // a line under the panel: "max of 16×16 cells"
};

struct Figure {
  std::string title;
  std::vector<std::string> names = {};  // as a panel's
  int columns = 1;
  std::vector<Panel> panels;
  std::string recipe;       // JSON, embedded in exports
  std::string statement;    // its numbers of the moment in one line of plain words; empty: those of its layers say them
  std::string description;  // alternative text, for readers who cannot see it: in exports that have a place for it
};

}  // namespace locus::figure
