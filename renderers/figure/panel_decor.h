// Measures of everything around a plot: the first half of the layout.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "renderers/figure/axis_labels.h"
#include "renderers/figure/layout.h"

namespace locus::figure {

struct Margins {
  double left = 0;
  double right = 0;
  double top = 0;
  double bottom = 0;
};

struct PanelDecor {
  std::vector<std::string> title;
  std::vector<std::string> note;
  std::vector<std::string> x_label;
  std::vector<std::string> y_label;
  std::vector<std::string> bar_label;
  AxisLabels x;
  AxisLabels y;
  double x_blocks = 0;  // how deep the strips of blocks are
  double y_blocks = 0;
  std::vector<Tick> bar_ticks;
  double bar_depth = 0;  // of the colour bar's tick labels
  double title_size = 0;
  double title_above = 0;  // the title's last line above the plot; margins.top covers it and the title
  int legend_rows = 0;
  Margins margins;
};

// The scale a panel's colour bar shows, if it has a bar.
std::optional<ColorScale> color_bar_scale(const Panel& panel);
// As high as the plot; beside text, no higher than is read at a glance.
double color_bar_height(const Panel& panel, double plot_height, const Style& style);
bool is_text(const Panel& panel);  // shows a TokenStrip
bool has_map(const Panel& panel);

// Named bars and curves, flowed into rows of `width`; positions relative to the legend's top left.
struct LegendFlow {
  std::vector<LegendEntry> entries;
  std::vector<Point> text_at;  // left of the baseline
  int rows = 0;
};
LegendFlow flow_legend(const Panel& panel, double width, const Style& style, const TextMetrics& metrics);

// How much room titles get: in a grid of maps on screen less, above thumbnails one small line.
enum class Titles { kUsual, kDense, kSmall };

// Measures what surrounds a plot of this size.
PanelDecor measure(const Panel& panel, double plot_width, double plot_height, Titles titles, const Style& style,
                   const TextMetrics& metrics);

// Puts the measured decoration around plot `place.plot` into `place`.
void place_decor(const Panel& panel, const PanelDecor& decor, const Style& style, const TextMetrics& metrics,
                 PanelLayout& place);

// The tokens of a strip in lines of `width`, boxes relative to the first one's top left.
std::vector<TokenBox> flow_tokens(const TokenStrip& strip, double width, double size, const Style& style,
                                  const TextMetrics& metrics);
double strip_line_height(double size, const Style& style);
// The largest type, within bounds, that lets the strip fit into width × height.
double strip_text_size(const TokenStrip& strip, double width, double height, const Style& style,
                       const TextMetrics& metrics);

}  // namespace locus::figure
