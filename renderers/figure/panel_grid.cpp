#include "renderers/figure/panel_grid.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "renderers/figure/titles.h"

namespace locus::figure {
namespace {

constexpr double kGolden = 0.62;
constexpr int kPasses = 3;              // margins depend on ticks, which depend on what the margins leave
constexpr std::size_t kSmallGrid = 12;  // more panels than this are thumbnails
constexpr int kTightRow = 3;            // on screen, so many maps beside each other have less between them
constexpr double kTableRow = 2.2;       // the height of a row of a table, in text sizes
constexpr double kLeastRows = 4;        // so that its colour bar can be read

// Everything the passes share.
struct Grid {
  const Figure& figure;
  const Style& style;
  const TextMetrics& metrics;
  int columns = 1;
  int rows = 1;
  double gap_x = 0;
  double gap_y = 0;
  bool small = false;
  Titles titles = Titles::kUsual;
  bool fit_text = false;  // the height is given
  std::vector<PanelDecor> decors{};
  std::vector<double> plot_width{};   // a column
  std::vector<double> plot_height{};  // a row
  std::vector<Margins> column{};      // left and right
  std::vector<Margins> row{};         // top and bottom

  int column_of(std::size_t panel) const { return static_cast<int>(panel) % columns; }
  int row_of(std::size_t panel) const { return static_cast<int>(panel) / columns; }
};

bool all_maps(const Figure& figure) {
  return std::all_of(figure.panels.begin(), figure.panels.end(), [](const Panel& panel) { return panel.equal_aspect; });
}

double map_ratio(const Panel& panel) {
  const double x = std::abs(panel.x.view.high - panel.x.view.low);
  const double y = std::abs(panel.y.view.high - panel.y.view.low);
  return x > 0 && y > 0 ? y / x : 1;
}

// The visible rows of a table: a map with numbers in its cells; 0: the panel is none.
double table_rows(const Panel& panel) {
  const bool table = std::any_of(panel.layers.begin(), panel.layers.end(), [](const Layer& layer) {
    const auto* map = std::get_if<HeatMap>(&layer);
    return map != nullptr && map->texts;
  });
  return table ? std::abs(panel.y.view.high - panel.y.view.low) : 0;
}

// The width within a panel's share: in a single column, panels without a colour bar have the room of the others' bars.
double share_width(const Grid& grid, std::size_t panel) {
  const auto column = static_cast<std::size_t>(grid.column_of(panel));
  const double spare = grid.column[column].right - grid.decors[panel].margins.right;
  const bool stretches =
      !grid.figure.panels[panel].equal_aspect || (!grid.fit_text && table_rows(grid.figure.panels[panel]) > 0);
  const bool takes = grid.columns == 1 && stretches && spare > 2 * grid.style.text_size;
  return grid.plot_width[column] + (takes ? spare : 0);
}

double natural_plot_height(const Panel& panel, double width, const Grid& grid) {
  if (panel.equal_aspect) {
    return std::min(width * map_ratio(panel), 1.6 * width);
  }
  for (const Layer& layer : panel.layers) {
    if (const auto* strip = std::get_if<TokenStrip>(&layer)) {
      const auto boxes = flow_tokens(*strip, width, grid.style.text_size, grid.style, grid.metrics);
      const double line = strip_line_height(grid.style.text_size, grid.style);
      const double lines = boxes.empty() ? 1 : std::round(boxes.back().box.y / line) + 1;
      const double least = color_bar_scale(panel) ? 6 * grid.style.text_size : 0;
      return std::max(lines * line, least);
    }
  }
  if (const double rows = table_rows(panel); rows > 0) {
    return std::max(rows, kLeastRows) * kTableRow * grid.style.text_size;
  }
  return has_map(panel) ? 0.75 * width : kGolden * width;
}

void collect_margins(Grid& grid) {
  grid.column.assign(static_cast<std::size_t>(grid.columns), {});
  grid.row.assign(static_cast<std::size_t>(grid.rows), {});
  for (std::size_t n = 0; n < grid.decors.size(); ++n) {
    const Margins& margins = grid.decors[n].margins;
    Margins& column = grid.column[static_cast<std::size_t>(grid.column_of(n))];
    Margins& row = grid.row[static_cast<std::size_t>(grid.row_of(n))];
    column.left = std::max(column.left, margins.left);
    column.right = std::max(column.right, margins.right);
    row.top = std::max(row.top, margins.top);
    row.bottom = std::max(row.bottom, margins.bottom);
  }
}

// Shares the room inside the margins among the plots; `height` 0: as high as they like.
void share_room(Grid& grid, double width, double height) {
  double free_width = width - (grid.columns - 1) * grid.gap_x;
  for (const Margins& margins : grid.column) {
    free_width -= margins.left + margins.right;
  }
  const double least = grid.style.text_size;
  grid.plot_width.assign(static_cast<std::size_t>(grid.columns), std::max(least, free_width / grid.columns));
  grid.plot_height.assign(static_cast<std::size_t>(grid.rows), least);
  for (std::size_t n = 0; n < grid.decors.size(); ++n) {
    const double plot_width = share_width(grid, n);
    double& plot_height = grid.plot_height[static_cast<std::size_t>(grid.row_of(n))];
    plot_height = std::max(plot_height, natural_plot_height(grid.figure.panels[n], plot_width, grid));
  }
  if (height <= 0) {
    return;
  }
  double free_height = height - (grid.rows - 1) * grid.gap_y;
  double wanted = 0;
  for (std::size_t r = 0; r < grid.row.size(); ++r) {
    free_height -= grid.row[r].top + grid.row[r].bottom;
    wanted += grid.plot_height[r];
  }
  for (double& plot_height : grid.plot_height) {
    plot_height = std::max(least, free_height * plot_height / wanted);
  }
}

// The rectangle of data inside a slot's share: smaller where one unit must be as long on both axes.
Rect plot_rect(const Panel& panel, const Rect& share, const Style& style) {
  Rect plot = share;
  if (panel.equal_aspect) {
    const double ratio = map_ratio(panel);
    plot.width = std::min(share.width, share.height / ratio);
    plot.height = plot.width * ratio;
    plot.x += (share.width - plot.width) / 2;
    plot.y += (share.height - plot.height) / 2;
  }
  const double right = style.aligned(plot.right());
  const double bottom = style.aligned(plot.bottom());
  plot.x = style.aligned(plot.x);
  plot.y = style.aligned(plot.y);
  plot.width = std::max(right - plot.x, style.pixel);
  plot.height = std::max(bottom - plot.y, style.pixel);
  return plot;
}

// Columns and rows of maps with equal aspect take no more room than their plots.
void compact(Grid& grid) {
  std::vector<double> widths(grid.plot_width.size(), 0);
  std::vector<double> heights(grid.plot_height.size(), 0);
  for (std::size_t n = 0; n < grid.decors.size(); ++n) {
    const auto c = static_cast<std::size_t>(grid.column_of(n));
    const auto r = static_cast<std::size_t>(grid.row_of(n));
    const double share = share_width(grid, n);
    const Rect plot = plot_rect(grid.figure.panels[n], {0, 0, share, grid.plot_height[r]}, grid.style);
    widths[c] = std::max(widths[c], plot.width - (share - grid.plot_width[c]));
    heights[r] = std::max(heights[r], plot.height);
  }
  grid.plot_width = widths;
  grid.plot_height = heights;
}

Point grid_size(const Grid& grid) {
  Point size{(grid.columns - 1) * grid.gap_x, (grid.rows - 1) * grid.gap_y};
  for (std::size_t c = 0; c < grid.column.size(); ++c) {
    size.x += grid.column[c].left + grid.plot_width[c] + grid.column[c].right;
  }
  for (std::size_t r = 0; r < grid.row.size(); ++r) {
    size.y += grid.row[r].top + grid.plot_height[r] + grid.row[r].bottom;
  }
  return size;
}

// Titles of a row stand on one line, whatever legends some of its panels have.
void align_titles(Grid& grid) {
  std::vector<double> above(static_cast<std::size_t>(grid.rows), 0);
  for (std::size_t n = 0; n < grid.decors.size(); ++n) {
    double& highest = above[static_cast<std::size_t>(grid.row_of(n))];
    highest = std::max(highest, grid.decors[n].title_above);
  }
  for (std::size_t n = 0; n < grid.decors.size(); ++n) {
    PanelDecor& decor = grid.decors[n];
    if (!decor.title.empty()) {
      const double wanted = above[static_cast<std::size_t>(grid.row_of(n))];
      decor.margins.top += wanted - decor.title_above;
      decor.title_above = wanted;
    }
  }
}

bool names_the_same(const Axis& a, const Axis& b) {
  return a.cell_names && b.cell_names && a.view.low == b.view.low && a.view.high == b.view.high &&
         (a.cell_names == b.cell_names || *a.cell_names == *b.cell_names);
}

// The axis without words: another panel has them.
Axis unnamed(Axis axis) {
  axis.label.clear();
  axis.cell_names = std::make_shared<const std::vector<std::string>>(axis.cell_names->size());
  return axis;
}

// Tokens are named once a row and once a column of maps, whose cells stand in line, where all have the same: at the
// left and below. Empty: the panel names its own.
std::optional<Panel> without_repeated_names(const Grid& grid, std::size_t n) {
  const std::vector<Panel>& panels = grid.figure.panels;
  const Panel& panel = panels[n];
  const std::size_t below = n + static_cast<std::size_t>(grid.columns);
  const auto is_map = [](const Panel& each) { return each.equal_aspect && has_map(each); };
  const bool named_below = below < panels.size() && is_map(panel) && is_map(panels[below]) &&
                           (panel.x.label.empty() || panel.x.label == panels[below].x.label) &&
                           names_the_same(panels[below].x, panel.x);
  const bool named_left = grid.column_of(n) > 0 && is_map(panel) && is_map(panels[n - 1]) && panel.y.label.empty() &&
                          names_the_same(panels[n - 1].y, panel.y);
  if (!named_below && !named_left) {
    return {};
  }
  Panel shorter = panel;
  shorter.x = named_below ? unnamed(panel.x) : panel.x;
  shorter.y = named_left ? unnamed(panel.y) : panel.y;
  return shorter;
}

void measure_all(Grid& grid) {
  for (std::size_t n = 0; n < grid.decors.size(); ++n) {
    const std::optional<Panel> shorter = without_repeated_names(grid, n);
    const Panel& panel = shorter ? *shorter : grid.figure.panels[n];
    const Rect share{0, 0, share_width(grid, n), grid.plot_height[static_cast<std::size_t>(grid.row_of(n))]};
    const Rect plot = plot_rect(panel, share, grid.style);
    grid.decors[n] = measure(panel, plot.width, plot.height, grid.titles, grid.style, grid.metrics);
  }
  align_titles(grid);
  collect_margins(grid);
}

// The lines of a text: on a canvas of given height in type that shows it whole, within bounds, or as the axes say.
void place_tokens(const TokenStrip& strip, const Panel& panel, const Grid& grid, PanelLayout& place) {
  const Rect& plot = place.plot;
  const double width = std::clamp(panel.x.view.high - panel.x.view.low, 0.1, 10.0);
  place.token_size = grid.fit_text ? strip_text_size(strip, plot.width, plot.height, grid.style, grid.metrics) / width
                                   : grid.style.text_size;
  place.tokens = flow_tokens(strip, plot.width, place.token_size, grid.style, grid.metrics);
  const double line = strip_line_height(place.token_size, grid.style);
  const auto line_of = [line](const TokenBox& token) { return std::round(token.box.y / line); };
  place.lines = place.tokens.empty() ? 0 : line_of(place.tokens.back()) + 1;
  place.lines_seen = std::max(std::floor(plot.height / line), 1.0);
  const double most = std::max(place.lines - place.lines_seen, 0.0);
  double first = panel.y.view.low;
  if (first < 0) {
    const bool known = strip.selected >= 0 && strip.selected < static_cast<std::int64_t>(place.tokens.size());
    const double at = known ? line_of(place.tokens[static_cast<std::size_t>(strip.selected)]) : 0;
    first = at < place.lines_seen ? 0 : at - std::floor(place.lines_seen / 2);
  }
  place.first_line = grid.fit_text ? std::min(first, most) : 0;
  for (TokenBox& token : place.tokens) {
    token.box.x += plot.x;
    token.box.y += plot.y - place.first_line * line;
  }
}

void place_panel(const Grid& grid, std::size_t n, const Rect& share, PanelLayout& place) {
  const Panel& panel = grid.figure.panels[n];
  place.plot = plot_rect(panel, share, grid.style);
  const Rect& plot = place.plot;
  place.x = {panel.x.view.low, panel.x.view.high, plot.x, plot.right(), panel.x.logarithmic};
  place.y = {panel.y.view.low, panel.y.view.high, plot.bottom(), plot.y, panel.y.logarithmic};
  place_decor(panel, grid.decors[n], grid.style, grid.metrics, place);
  for (const Layer& layer : panel.layers) {
    if (const auto* strip = std::get_if<TokenStrip>(&layer)) {
      place_tokens(*strip, panel, grid, place);
    }
  }
}

// Places the rows below `top`.
void place_grid(const Grid& grid, double left, double top, Layout& layout) {
  double y = top;
  for (int r = 0; r < grid.rows; ++r) {
    const Margins& row = grid.row[static_cast<std::size_t>(r)];
    const double plot_height = grid.plot_height[static_cast<std::size_t>(r)];
    double x = left;
    for (int c = 0; c < grid.columns; ++c) {
      const Margins& column = grid.column[static_cast<std::size_t>(c)];
      const double plot_width = grid.plot_width[static_cast<std::size_t>(c)];
      const auto n = static_cast<std::size_t>(r) * static_cast<std::size_t>(grid.columns) + static_cast<std::size_t>(c);
      if (n < grid.figure.panels.size()) {
        PanelLayout& place = layout.panels[n];
        place.slot = {x, y, column.left + plot_width + column.right, row.top + plot_height + row.bottom};
        place_panel(grid, n, {x + column.left, y + row.top, share_width(grid, n), plot_height}, place);
      }
      x += column.left + plot_width + column.right + grid.gap_x;
    }
    y += row.top + plot_height + row.bottom + grid.gap_y;
  }
}

}  // namespace

Layout lay_out_grid(const Figure& figure, double width, double height, const Style& style, const TextMetrics& metrics,
                    Titles titles) {
  Layout layout{width, height, style, std::vector<PanelLayout>(figure.panels.size()), {}};
  const double pad = style.aligned(style.gap());
  const double title_size = 1.1 * style.title_text();
  const auto title = title_lines(metrics, figure.title, figure.names, title_size, width - 2 * pad, 2);
  const double title_height =
      static_cast<double>(title.size()) * TextMetrics::line_height(title_size) + (title.empty() ? 0 : style.gap());

  Grid grid{figure, style, metrics};
  const auto count = static_cast<int>(figure.panels.size());
  grid.columns = std::clamp(figure.columns, 1, std::max(count, 1));
  grid.rows = (count + grid.columns - 1) / grid.columns;
  grid.small = figure.panels.size() > kSmallGrid;
  grid.titles = grid.small ? Titles::kSmall : titles;
  grid.fit_text = height > 0;
  const bool tight = grid.fit_text && grid.columns >= kTightRow && all_maps(figure);
  grid.gap_x = grid.small ? style.gap() : (tight ? 0.5 : 1.2) * style.text_size;
  grid.gap_y = grid.small ? style.gap() : 0.8 * style.text_size;
  grid.decors.resize(figure.panels.size());
  collect_margins(grid);
  const double room = height > 0 ? std::max(height - title_height - 2 * pad, 1.0) : 0;
  for (int pass = 0; pass < kPasses; ++pass) {
    share_room(grid, width - 2 * pad, room);
    measure_all(grid);
  }
  share_room(grid, width - 2 * pad, room);
  compact(grid);
  const Point size = count > 0 ? grid_size(grid) : Point{};
  const double used = 2 * pad + title_height + size.y;
  if (height <= 0) {
    layout.height = style.pixel > 0 ? std::ceil(used / style.pixel) * style.pixel : used;
  }
  double top = pad + std::max(0.0, (layout.height - used) / 2);
  for (const std::string& line : title) {
    layout.texts.push_back(
        {line, {width / 2, top + TextMetrics::ascent(title_size)}, 0.5, title_size, false, style.foreground});
    top += TextMetrics::line_height(title_size);
  }
  top += title.empty() ? 0 : style.gap();
  place_grid(grid, std::max(pad, (width - size.x) / 2), top, layout);
  return layout;
}

}  // namespace locus::figure
