#include "renderers/figure/panel_decor.h"

#include <algorithm>
#include <cmath>

#include "renderers/figure/titles.h"
#include "renderers/figure/words.h"

namespace locus::figure {
namespace {

constexpr double kWordNames = 0.85;      // so large are names of words
constexpr double kSmallestNames = 0.75;  // token names may shrink to this part of the tick text
constexpr double kLongestName = 10;      // in tick text sizes; what is longer is elided
constexpr double kLongestBeginning = 6;  // the same of a label that several words share: its beginning finds the place
constexpr double kWordLine = 1.3;        // the room of a word along its axis, in text sizes
constexpr double kMaxWords = 2;          // that share a label, on average; beyond, cells are counted
constexpr double kMaxLetterWords = 6;    // the same where tokens are letters, whose numbers find no place in a text
constexpr double kLettersAWord = 3;      // cells a word, at least, where they are
constexpr double kMostTicks = 9;         // on an axis, however long: more are not read

// Whether a map of whole cells is drawn along x (or y): its ticks then name cells.
bool counts_cells(const Panel& panel, bool along_x) {
  for (const Layer& layer : panel.layers) {
    const auto* map = std::get_if<HeatMap>(&layer);
    if (map != nullptr && map->field) {
      const FieldAxis& axis = along_x ? map->field->column_axis : map->field->row_axis;
      return axis.step >= 1 && axis.step == std::floor(axis.step) && axis.first == std::floor(axis.first);
    }
  }
  return false;
}

double widest(const std::vector<Tick>& ticks, double size, const TextMetrics& metrics) {
  double width = 0;
  for (const Tick& tick : ticks) {
    width = std::max(width, metrics.width(tick.label, size));
  }
  return width;
}

// The visible cells of an axis that has names.
struct NamedCells {
  const std::vector<std::string>& names;
  Range cells;      // whose middle is visible
  double cell = 0;  // the size of one, in canvas units
};

std::optional<NamedCells> named_cells(const Axis& axis, double length) {
  const double low = std::min(axis.view.low, axis.view.high);
  const double high = std::max(axis.view.low, axis.view.high);
  if (!axis.cell_names || axis.cell_names->empty() || !(high > low) || length <= 0) {
    return std::nullopt;
  }
  const auto count = static_cast<double>(axis.cell_names->size());
  const auto cell = [&](double at) { return static_cast<std::int64_t>(std::clamp(at, 0.0, count)); };
  return NamedCells{
      *axis.cell_names, {cell(std::ceil(low - 0.5)), cell(std::floor(high + 0.5))}, length / (high - low)};
}

// A name a cell.
AxisLabels cell_labels(const NamedCells& named, bool along_x, double smallest, const Style& style,
                       const TextMetrics& metrics) {
  AxisLabels labels;
  labels.size = std::clamp(named.cell / 1.05, smallest, style.tick_text());
  for (std::int64_t n = named.cells.begin; n < named.cells.end; ++n) {
    const std::string name = printable(name_of(named.names, static_cast<std::size_t>(n)));
    labels.ticks.push_back({static_cast<double>(n), static_cast<double>(n) + 0.5,
                            elided(metrics, name, labels.size, kLongestName * style.tick_text())});
  }
  const double width = widest(labels.ticks, labels.size, metrics);
  labels.room = named.cell;
  labels.vertical = along_x && width + 0.5 * labels.size > labels.room;
  labels.depth = along_x && !labels.vertical ? TextMetrics::line_height(labels.size) : width;
  return labels;
}

// Words, as many together as make room for a line of text; none where that is more than a few.
std::vector<Range> legible_words(const NamedCells& named, double line) {
  const std::vector<Range> words = words_of(named.names, named.cells);
  std::vector<Range> groups;
  for (const Range& word : words) {
    if (groups.empty() || static_cast<double>(groups.back().size()) * named.cell >= line) {
      groups.push_back(word);
    }
    groups.back().end = word.end;
  }
  if (groups.size() > 1 && static_cast<double>(groups.back().size()) * named.cell < line) {
    groups[groups.size() - 2].end = groups.back().end;
    groups.pop_back();
  }
  const auto count = static_cast<double>(words.size());
  const bool letters = count * kLettersAWord <= static_cast<double>(named.cells.size());
  const double most = letters ? kMaxLetterWords : kMaxWords;
  return groups.size() > 1 && count <= most * static_cast<double>(groups.size()) ? groups : std::vector<Range>();
}

// Cells too small for a name each: words, each named between lines where it begins and where the next one does.
std::optional<AxisLabels> word_labels(const NamedCells& named, bool along_x, double size, const Style& style,
                                      const TextMetrics& metrics) {
  const std::vector<Range> words = legible_words(named, kWordLine * size);
  if (words.empty()) {
    return std::nullopt;
  }
  const auto count = static_cast<double>(words_of(named.names, named.cells).size());
  const bool shared = count > kMaxWords * static_cast<double>(words.size());
  const double longest = (shared ? kLongestBeginning : kLongestName) * style.tick_text();
  AxisLabels labels;
  labels.size = size;
  double width = 0;
  for (const Range& word : words) {
    const auto begin = static_cast<double>(word.begin);
    const std::string whole = printable(text_of(named.names, whole_words(named.names, word)));
    const std::string text = elided(metrics, whole, size, longest);
    labels.ticks.push_back({begin, begin, ""});
    labels.ticks.push_back({begin, static_cast<double>(word.begin + word.end) / 2, text, false});
    const double advance = metrics.width(text, size);
    labels.vertical =
        labels.vertical || (along_x && advance + 0.5 * size > static_cast<double>(word.size()) * named.cell);
    width = std::max(width, advance);
  }
  labels.ticks.push_back({static_cast<double>(words.back().end), static_cast<double>(words.back().end), ""});
  labels.depth = along_x && !labels.vertical ? TextMetrics::line_height(size) : width;
  return labels;
}

// Names of the visible cells as tick labels; none when the cells are too small to name.
std::optional<AxisLabels> name_labels(const Axis& axis, double length, bool along_x, const Style& style,
                                      const TextMetrics& metrics) {
  const auto named = named_cells(axis, length);
  if (!named || named->cells.empty()) {
    return std::nullopt;
  }
  const bool unnamed =
      std::all_of(named->names.begin(), named->names.end(), [](const auto& name) { return name.empty(); });
  if (unnamed) {
    return AxisLabels{};  // another panel names them
  }
  const double smallest = style.readable(kSmallestNames * style.tick_text());
  return 1.05 * smallest <= named->cell + 1e-9
             ? cell_labels(*named, along_x, smallest, style, metrics)
             : word_labels(*named, along_x, style.readable(kWordNames * style.tick_text()), style, metrics);
}

AxisLabels axis_labels(const Panel& panel, bool along_x, double length, const Style& style,
                       const TextMetrics& metrics) {
  const Axis& axis = along_x ? panel.x : panel.y;
  if (auto names = name_labels(axis, length, along_x, style, metrics)) {
    return *std::move(names);
  }
  AxisLabels labels;
  labels.size = style.tick_text();
  TickRequest request;
  request.view = axis.view;
  request.length = length;
  request.logarithmic = axis.logarithmic;
  request.log_base = axis.log_base;
  request.cells = counts_cells(panel, along_x) || axis.cell_names != nullptr;
  if (along_x) {
    request.room = [&](const std::string& label) {
      return std::max(metrics.width(label, labels.size) + 1.2 * labels.size, length / kMostTicks);
    };
  } else {
    request.room = [&](const std::string&) { return std::max(1.9 * labels.size, length / kMostTicks); };
  }
  labels.ticks = make_ticks(request);
  labels.depth = along_x ? TextMetrics::line_height(labels.size) : widest(labels.ticks, labels.size, metrics);
  return labels;
}

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
      color_bar_ticks(scale, height, [&](const std::string&) { return std::max(2.2 * size, height / kMostTicks); });
  decor.bar_depth = widest(decor.bar_ticks, size, metrics);
  decor.bar_label = balanced(metrics, panel.color_bar_label, style.text_size, std::max(height, 6 * style.text_size), 3);
}

double color_bar_room(const PanelDecor& decor, const Style& style) {
  double room = 2 * style.gap() + 0.9 * style.text_size + style.tick_length() + style.gap() / 2 + decor.bar_depth;
  if (!decor.bar_label.empty()) {
    room += style.gap() + lines_height(decor.bar_label, style.text_size);
  }
  return room;
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
  }
  return std::nullopt;
}

double color_bar_height(const Panel& panel, double plot_height, const Style& style) {
  return is_text(panel) ? std::min(plot_height, 12 * style.text_size) : plot_height;
}

LegendFlow flow_legend(const Panel& panel, double width, const Style& style, const TextMetrics& metrics) {
  LegendFlow flow;
  const double size = style.tick_text();
  const double swatch = 1.7 * size;
  const double row = 1.35 * size;
  double x = 0;
  for (std::size_t n = 0; n < panel.layers.size(); ++n) {
    const auto* curve = std::get_if<Curve>(&panel.layers[n]);
    const auto* bars = std::get_if<Bars>(&panel.layers[n]);
    const std::string name = curve != nullptr ? curve->name : (bars != nullptr ? bars->name : "");
    if (name.empty()) {
      continue;
    }
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
    margins.left = style.tick_length() + style.gap() / 2 + decor.y.depth;
    margins.bottom = style.tick_length() + style.gap() / 2 + decor.x.depth;
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
  decor.note = wrapped(metrics, panel.note, style.note_text(), margins.left + plot_width + margins.right, 3);
  if (!decor.note.empty()) {
    margins.bottom += style.gap() / 2 + lines_height(decor.note, style.note_text());
  }
  return decor;
}

}  // namespace locus::figure
