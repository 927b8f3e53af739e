// Layout: where everything of a Figure goes on a canvas of a given size. Screen and paper share it, so they agree; the
// pixel under a pointer is turned back into data here too.
//
// A panel has a slot in the grid; within it the plot is the rectangle that shows data, surrounded by ticks, labels,
// legend, colour bar, title and note. No text is ever cut at the canvas: margins follow from measured text, lines that
// do not fit are wrapped, then elided.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "renderers/figure/figure.h"
#include "renderers/figure/geometry.h"
#include "renderers/figure/style.h"
#include "renderers/figure/text_metrics.h"
#include "renderers/figure/ticks.h"

namespace locus::figure {

// Data units to canvas units along one axis: `low` is drawn at `begin`, `high` at `end`.
struct AxisMap {
  double low = 0;
  double high = 1;
  double begin = 0;
  double end = 1;
  bool logarithmic = false;

  double place(double value) const;
  double value(double place) const;
};

// One line of text; `at` is a point on its baseline: its beginning (align 0), middle (0.5) or end (1). Vertical text
// reads upwards.
struct PlacedText {
  std::string text;
  Point at;
  double align = 0;
  double size = 12;
  bool vertical = false;
  Color color = 0x000000FF;
};

struct LegendEntry {
  std::size_t layer = 0;  // of the panel: a Bars, a Curve, or a HeatMap whose hidden cells it explains
  Color color = 0;
  Rect swatch;
};

// A token of a TokenStrip on its line.
struct TokenBox {
  std::int64_t token = 0;
  Rect box;
  std::string text;
};

// A block of an axis in its strip.
struct PlacedBlock {
  std::size_t block = 0;  // of Axis::blocks
  Rect line;              // along its visible cells
  Rect picture;           // empty: none is known, or there is no room
};

struct PanelLayout {
  Rect slot;
  Rect plot;
  Rect color_bar;  // empty: none
  AxisMap x;
  AxisMap y;
  std::vector<Tick> x_ticks;
  std::vector<Tick> y_ticks;
  std::vector<Tick> bar_ticks;
  std::vector<PlacedBlock> x_blocks;
  std::vector<PlacedBlock> y_blocks;
  std::vector<LegendEntry> legend;
  std::vector<TokenBox> tokens;
  double token_size = 0;  // of their type
  double first_line = 0;  // of the tokens\' lines the one at the top, of so many, of which so many fit
  double lines = 0;
  double lines_seen = 0;
  std::vector<PlacedText> texts;
  std::vector<Rect> strikes;  // lines through them
  bool frame = true;          // axes are shown
};

struct Layout {
  double width = 0;
  double height = 0;
  Style style;
  std::vector<PanelLayout> panels;  // one a panel of the figure, in its order
  std::vector<PlacedText> texts;    // the figure's title
};

// Lays the figure out on width × height canvas units; height 0 takes the height that suits the figure: maps with equal
// aspect as large as the width allows, curves in the golden ratio, text as many lines as it has, and a row of panels in
// fewer columns where they would be too narrow to read. In a given height a row of maps wraps into the grid that makes
// its smallest map largest.
Layout lay_out(const Figure& figure, double width, double height, const Style& style, const TextMetrics& metrics);

// The thing at a place of the canvas: the panel whose plot is there, the data coordinates (cell n covers [n, n+1):
// the cell is their floor), and the token of a TokenStrip (−1: none).
struct Hit {
  std::size_t panel = 0;
  double x = 0;
  double y = 0;
  std::int64_t token = -1;
};
std::optional<Hit> hit_test(const Layout& layout, double x, double y);

// The name of a layer in the legend; empty: it has none.
const std::string& legend_name(const Layer& layer);
// The colour of layer `index`, with 0 replaced by the palette's next.
Color layer_color(const Panel& panel, std::size_t index, const Style& style);

}  // namespace locus::figure
