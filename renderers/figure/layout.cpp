#include "renderers/figure/layout.h"

#include <algorithm>
#include <cmath>

#include "renderers/figure/panel_grid.h"

namespace locus::figure {

double AxisMap::place(double value) const {
  if (logarithmic && low > 0 && high > 0) {
    return begin + (std::log(std::max(value, 1e-300) / low) / std::log(high / low)) * (end - begin);
  }
  return begin + (value - low) / (high - low) * (end - begin);
}

double AxisMap::value(double place) const {
  const double t = (place - begin) / (end - begin);
  return logarithmic && low > 0 && high > 0 ? low * std::pow(high / low, t) : low + t * (high - low);
}

Color layer_color(const Panel& panel, std::size_t index, const Style& style) {
  std::size_t series = 0;
  for (std::size_t n = 0; n < panel.layers.size(); ++n) {
    const auto* curve = std::get_if<Curve>(&panel.layers[n]);
    const auto* bars = std::get_if<Bars>(&panel.layers[n]);
    const auto* marker = std::get_if<Marker>(&panel.layers[n]);
    if (const auto* box = std::get_if<Box>(&panel.layers[n]); box != nullptr && n == index) {
      return box->color != 0 ? box->color : style.palette[1];
    }
    const Color own =
        curve != nullptr ? curve->color : (bars != nullptr ? bars->color : (marker != nullptr ? marker->color : 0));
    if (n == index) {
      return own != 0 ? own : (marker != nullptr ? style.foreground : style.palette[series % style.palette.size()]);
    }
    series += curve != nullptr || bars != nullptr ? 1 : 0;
  }
  return style.foreground;
}

namespace {

// On paper the panels of a row go below each other where they would be narrower than this, in text sizes.
constexpr double kNarrowestMap = 8;
constexpr double kNarrowestPlot = 14;
constexpr double kWorthWrapping = 1.08;  // on screen a row of maps wraps for maps larger by so much
constexpr double kWorthNumbers = 1.35;   // and words beside maps give way to numbers

bool is_narrow(const Figure& figure, const Layout& layout) {
  for (std::size_t n = 0; n < figure.panels.size(); ++n) {
    const double least = figure.panels[n].equal_aspect ? kNarrowestMap : kNarrowestPlot;
    if (layout.panels[n].plot.width < least * layout.style.text_size) {
      return true;
    }
  }
  return false;
}

// The same panels in fewer columns: those that now begin a row have its axis' label. On screen, where room is scarce,
// keys are named below the last of each column alone.
Figure in_columns(Figure figure, int columns, bool scarce) {
  figure.columns = columns;
  for (std::size_t n = 0; scarce && n + static_cast<std::size_t>(columns) < figure.panels.size(); ++n) {
    const std::string& below = figure.panels[n + static_cast<std::size_t>(columns)].x.label;
    figure.panels[n].x.label = figure.panels[n].x.label == below ? "" : figure.panels[n].x.label;
  }
  const std::string label = figure.panels.front().y.label;
  for (std::size_t n = 0; n < figure.panels.size(); n += static_cast<std::size_t>(columns)) {
    Axis& axis = figure.panels[n].y;
    axis.label = axis.label.empty() ? label : axis.label;
  }
  return figure;
}

// The shorter side of the smallest map.
double smallest_map(const Layout& layout) {
  double smallest = layout.panels.empty() ? 0 : layout.panels.front().plot.width;
  for (const PanelLayout& panel : layout.panels) {
    smallest = std::min({smallest, panel.plot.width, panel.plot.height});
  }
  return smallest;
}

// On screen: the grid that makes maps largest.
Layout lay_out_maps(const Figure& figure, double width, double height, const Style& style, const TextMetrics& metrics) {
  Layout layout = lay_out_grid(figure, width, height, style, metrics);
  const auto count = static_cast<int>(figure.panels.size());
  for (int rows = 2; figure.columns >= count && rows <= count; ++rows) {
    const int columns = (count + rows - 1) / rows;
    if ((count + columns - 1) / columns != rows) {
      continue;  // fewer rows hold as many in a row
    }
    Layout grid = lay_out_grid(in_columns(figure, columns, true), width, height, style, metrics, Titles::kDense);
    if (smallest_map(grid) > kWorthWrapping * smallest_map(layout)) {
      layout = std::move(grid);
    }
  }
  return layout;
}

// The same without the words beside maps whose cells are too small for a name each; none where there are none.
std::optional<Figure> without_words(const Figure& figure, const Layout& layout) {
  const double least = layout.style.readable(layout.style.tick_text());
  std::optional<Figure> numbered;
  for (std::size_t n = 0; n < figure.panels.size(); ++n) {
    const PanelLayout& place = layout.panels[n];
    const auto drop = [&](Axis Panel::*axis, double length) {
      const Axis& named = figure.panels[n].*axis;
      if (named.cell_names && std::abs(named.view.high - named.view.low) * least > length) {
        if (!numbered) {
          numbered = figure;
        }
        (numbered->panels[n].*axis).cell_names.reset();
      }
    };
    drop(&Panel::x, place.plot.width);
    drop(&Panel::y, place.plot.height);
  }
  return numbered;
}

}  // namespace

Layout lay_out(const Figure& figure, double width, double height, const Style& style, const TextMetrics& metrics) {
  const auto count = static_cast<int>(figure.panels.size());
  const bool maps =
      std::all_of(figure.panels.begin(), figure.panels.end(), [](const Panel& panel) { return panel.equal_aspect; });
  if (height > 0 && maps && count > 0) {
    Layout layout = lay_out_maps(figure, width, height, style, metrics);
    if (const auto numbered = without_words(figure, layout)) {
      Layout larger = lay_out_maps(*numbered, width, height, style, metrics);
      return smallest_map(larger) > kWorthNumbers * smallest_map(layout) ? larger : layout;
    }
    return layout;
  }
  Layout layout = lay_out_grid(figure, width, height, style, metrics);
  const bool wraps = count > 1 && figure.columns >= count && height <= 0;
  for (int columns = count - 1; wraps && columns > 0 && is_narrow(figure, layout); --columns) {
    layout = lay_out_grid(in_columns(figure, columns, false), width, height, style, metrics);
  }
  return layout;
}

std::optional<Hit> hit_test(const Layout& layout, double x, double y) {
  for (std::size_t n = 0; n < layout.panels.size(); ++n) {
    const PanelLayout& panel = layout.panels[n];
    if (!panel.plot.contains(x, y)) {
      continue;
    }
    Hit hit{n, panel.x.value(x), panel.y.value(y), -1};
    for (const TokenBox& token : panel.tokens) {
      if (token.box.contains(x, y)) {
        hit.token = token.token;
      }
    }
    return hit;
  }
  return std::nullopt;
}

}  // namespace locus::figure
