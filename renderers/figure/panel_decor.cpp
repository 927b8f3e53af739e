#include "renderers/figure/panel_decor.h"

#include <algorithm>
#include <cmath>

#include "renderers/figure/axis_blocks.h"
#include "renderers/figure/layer_marks.h"
#include "renderers/figure/titles.h"
#include "renderers/figure/words.h"

namespace locus::figure {
namespace {

// How far labels below the plot stick out of it on either side.
double overhang(const AxisLabels& labels, const TextMetrics& metrics) {
  if (labels.vertical || labels.ticks.empty()) {
    return 0;
  }
  const auto half = [&](const Tick& tick) { return metrics.width(tick.label, labels.size) / 2; };
  return std::max(half(labels.ticks.front()), half(labels.ticks.back()));
}

double lines_height(const std::vector<std::string>& lines, double size) {
  return static_cast<double>(lines.size()) * TextMetrics::line_height(size);
}

void measure_color_bar(const Panel& panel, const ColorScale& scale, double height, const Style& style,
                       const TextMetrics& metrics, PanelDecor& decor) {
  const double size = style.tick_text();
  decor.bar_ticks =
      color_bar_ticks(scale, height, [&](const std::string&) { return std::max(2.2 * size, height / kMaxTicks); });
  decor.bar_depth = widest(decor.bar_ticks, size, metrics);
  decor.bar_label = balanced(metrics, panel.color_bar_label + automatic_words(scale), style.text_size,
                             std::max(height, 6 * style.text_size), 3);
}

double color_bar_room(const PanelDecor& decor, const Style& style) {
  double room = 2 * style.gap() + 0.9 * style.text_size + style.tick_length() + style.gap() / 2 + decor.bar_depth;
  if (!decor.bar_label.empty()) {
    room += style.gap() + lines_height(decor.bar_label, style.text_size);
  }
  return room;
}

// How many lines a note may have below a plot: three, below a high one more.
int note_lines(double plot_height, const Style& style) {
  constexpr double kShare = 6;  // of the plot's height
  return std::clamp(static_cast<int>(plot_height / kShare / TextMetrics::line_height(style.note_text())), 3, 6);
}

}  // namespace

bool is_text(const Panel& panel) {
  return std::any_of(panel.layers.begin(), panel.layers.end(),
                     [](const Layer& layer) { return std::holds_alternative<TokenStrip>(layer); });
}

bool has_map(const Panel& panel) {
  return std::any_of(panel.layers.begin(), panel.layers.end(),
                     [](const Layer& layer) { return std::holds_alternative<HeatMap>(layer); });
}

std::optional<ColorScale> color_bar_scale(const Panel& panel) {
  if (panel.color_bar_label.empty() && !panel.color_bar) {
    return std::nullopt;
  }
  for (const Layer& layer : panel.layers) {
    if (const auto* map = std::get_if<HeatMap>(&layer)) {
      return map->scale;
    }
    if (const auto* strip = std::get_if<TokenStrip>(&layer)) {
      return strip->scale;
    }
    if (const auto* points = std::get_if<Points>(&layer)) {
      return points->scale;
    }
  }
  return std::nullopt;
}

double color_bar_height(const Panel& panel, double plot_height, const Style& style) {
  return is_text(panel) ? std::min(plot_height, 12 * style.text_size) : plot_height;
}

const std::string& legend_name(const Layer& layer) {
  static const std::string kNone;
  const auto* curve = std::get_if<Curve>(&layer);
  const auto* bars = std::get_if<Bars>(&layer);
  const auto* map = std::get_if<HeatMap>(&layer);
  return curve != nullptr ? curve->name : bars != nullptr ? bars->name : map != nullptr ? map->hidden : kNone;
}

// Makes room for two dashes and the gap between them where dashes are long: one alone looks like a solid line.
double swatch_width(const Layer& layer, const Style& style) {
  const auto* curve = std::get_if<Curve>(&layer);
  const bool is_long = curve != nullptr && curve->dashed && curve->dash > 1;
  return std::max(1.7 * style.tick_text(), is_long ? 2.6 * dash_of(*curve, curve_width(*curve, style)) : 0.0);
}

LegendFlow flow_legend(const Panel& panel, double width, const Style& style, const TextMetrics& metrics) {
  LegendFlow flow;
  const double size = style.tick_text();
  const double row = 1.35 * size;
  double x = 0;
  for (std::size_t n = 0; n < panel.layers.size(); ++n) {
    const std::string& name = legend_name(panel.layers[n]);
    if (name.empty()) {
      continue;
    }
    const double swatch = swatch_width(panel.layers[n], style);
    const double entry = swatch + 0.4 * size + metrics.width(name, size);
    if (flow.rows == 0 || (x > 0 && x + entry > width)) {
      ++flow.rows;
      x = 0;
    }
    const double top = (flow.rows - 1) * row;
    flow.entries.push_back({n, layer_color(panel, n, style), {x, top + 0.2 * size, swatch, 0.75 * size}});
    flow.text_at.push_back({x + swatch + 0.4 * size, top + 0.93 * size});
    x += entry + 1.2 * size;
  }
  return flow;
}

PanelDecor measure(const Panel& panel, double plot_width, double plot_height, Titles titles, const Style& style,
                   const TextMetrics& metrics) {
  PanelDecor decor;
  Margins& margins = decor.margins;
  const bool axes = panel.show_axes && !is_text(panel);
  if (axes) {
    decor.x = axis_labels(panel, true, plot_width, style, metrics);
    decor.y = axis_labels(panel, false, plot_height, style, metrics);
    decor.x_label = balanced(metrics, panel.x.label, style.text_size, std::max(plot_width, 6 * style.text_size), 2);
    decor.x_blocks = blocks_depth(panel.x, style);
    decor.y_blocks = blocks_depth(panel.y, style);
    margins.left = style.tick_length() + style.gap() / 2 + decor.y.depth + decor.y_blocks;
    margins.bottom = style.tick_length() + style.gap() / 2 + decor.x.depth + decor.x_blocks;
    if (!decor.x_label.empty()) {
      margins.bottom += style.gap() / 2 + lines_height(decor.x_label, style.text_size);
    }
    // Beside a low plot a label may be as long as the title above and the ticks below leave room for.
    const double above = panel.title.empty() ? 0 : TextMetrics::line_height(style.note_text());
    const double y_room = std::max(plot_height + 2 * std::min(margins.bottom, above), 6 * style.text_size);
    decor.y_label = balanced(metrics, panel.y.label, style.text_size, y_room, 2);
    if (!decor.y_label.empty()) {
      margins.left += style.gap() + lines_height(decor.y_label, style.text_size);
    }
    const double beyond = overhang(decor.x, metrics);
    margins.left = std::max(margins.left, beyond);
    margins.right = beyond;
    margins.top = 0.5 * style.tick_text();
  }
  if (const auto scale = color_bar_scale(panel)) {
    measure_color_bar(panel, *scale, color_bar_height(panel, plot_height, style), style, metrics, decor);
    margins.right = std::max(margins.right, color_bar_room(decor, style));
    margins.top = std::max(margins.top, 0.5 * style.tick_text());
    margins.bottom = std::max(margins.bottom, 0.5 * style.tick_text());
  }
  margins.right += panel.room_right * style.text_size;
  decor.legend_rows = flow_legend(panel, plot_width, style, metrics).rows;
  margins.top = std::max(
      margins.top, decor.legend_rows * 1.35 * style.tick_text() + style.gap() / 2 * (decor.legend_rows > 0 ? 1 : 0));
  margins.top += panel.room_above * style.text_size;
  decor.title_size = titles == Titles::kUsual ? style.title_text() : style.note_text();
  const double title_width = plot_width + 2 * std::min(margins.left, margins.right);
  decor.title =
      title_lines(metrics, panel.title, panel.names, decor.title_size, title_width, titles == Titles::kSmall ? 1 : 2);
  if (!decor.title.empty()) {
    const double gap = decor.legend_rows > 0 || !axes ? style.gap() / 2 : 0;
    decor.title_above = margins.top + gap;
    margins.top = decor.title_above + lines_height(decor.title, decor.title_size);
  }
  decor.note = wrapped(metrics, panel.note, style.note_text(), margins.left + plot_width + margins.right,
                       note_lines(plot_height, style));
  if (!decor.note.empty()) {
    margins.bottom += style.gap() / 2 + lines_height(decor.note, style.note_text());
  }
  return decor;
}

}  // namespace locus::figure
