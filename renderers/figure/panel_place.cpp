// The second half of the layout: measured decoration put around its plot.
#include <algorithm>
#include <cmath>

#include "renderers/figure/axis_blocks.h"
#include "renderers/figure/panel_decor.h"
#include "renderers/figure/words.h"

namespace locus::figure {
namespace {

constexpr double kLargestStrip = 2;     // of token type where there is room, in text sizes
constexpr double kSmallestStrip = 0.7;  // where there is little
constexpr double kStripPad = 0.14;      // left and right of a token, in text sizes
constexpr double kHalfCapital = 0.36;   // the middle of a capital letter above the baseline, in text sizes

// Lines stacked downwards from `top`, all with the same x and alignment.
void stack(const std::vector<std::string>& lines, double x, double top, double align, double size, Color color,
           std::vector<PlacedText>& texts) {
  double baseline = top + TextMetrics::ascent(size);
  for (const std::string& line : lines) {
    texts.push_back({line, {x, baseline}, align, size, false, color});
    baseline += TextMetrics::line_height(size);
  }
}

// Vertical lines, stacked rightwards from `left`, centred at y.
void stack_vertical(const std::vector<std::string>& lines, double left, double y, double size, Color color,
                    std::vector<PlacedText>& texts) {
  double baseline = left + TextMetrics::ascent(size);
  for (const std::string& line : lines) {
    texts.push_back({line, {baseline, y}, 0.5, size, true, color});
    baseline += TextMetrics::line_height(size);
  }
}

// All in one direction.
void place_x_labels(const PanelDecor& decor, const Style& style, PanelLayout& place) {
  const double top = place.plot.bottom() + style.tick_length() + style.gap() / 2;
  const double size = decor.x.size;
  for (const Tick& tick : decor.x.ticks) {
    if (tick.label.empty()) {
      continue;
    }
    const double at = place.x.place(tick.at);
    if (decor.x.vertical) {
      place.texts.push_back({tick.label, {at + kHalfCapital * size, top}, 1, size, true, style.muted});
    } else {
      place.texts.push_back({tick.label, {at, top + TextMetrics::ascent(size)}, 0.5, size, false, style.muted});
    }
  }
}

void place_y_labels(const PanelDecor& decor, const Style& style, PanelLayout& place) {
  const double right = place.plot.x - style.tick_length() - style.gap() / 2;
  for (const Tick& tick : decor.y.ticks) {
    if (!tick.label.empty()) {
      const double baseline = place.y.place(tick.at) + kHalfCapital * decor.y.size;
      place.texts.push_back({tick.label, {right, baseline}, 1, decor.y.size, false, style.muted});
    }
  }
}

void place_color_bar(const Panel& panel, const PanelDecor& decor, const Style& style, PanelLayout& place) {
  const Rect& plot = place.plot;
  const double right = plot.right() + panel.room_right * style.text_size;
  Rect bar{right + 2 * style.gap(), plot.y, 0.9 * style.text_size, color_bar_height(panel, plot.height, style)};
  bar.x = style.aligned(bar.x);
  bar.width = style.aligned(bar.width);
  place.color_bar = bar;
  place.bar_ticks = decor.bar_ticks;
  const double size = style.tick_text();
  const double left = bar.right() + style.tick_length() + style.gap() / 2;
  for (const Tick& tick : decor.bar_ticks) {
    const double y = bar.bottom() - tick.at * bar.height;
    place.texts.push_back({tick.label, {left, y + kHalfCapital * size}, 0, size, false, style.muted});
  }
  stack_vertical(decor.bar_label, left + decor.bar_depth + style.gap(), bar.center_y(), style.text_size,
                 style.foreground, place.texts);
}

void place_legend(const Panel& panel, const Style& style, const TextMetrics& metrics, PanelLayout& place) {
  LegendFlow flow = flow_legend(panel, place.plot.width, style, metrics);
  if (flow.rows == 0) {
    return;
  }
  const double size = style.tick_text();
  const double above = place.plot.y - panel.room_above * style.text_size;
  const double top = above - flow.rows * 1.35 * size - style.gap() / 2;
  for (std::size_t n = 0; n < flow.entries.size(); ++n) {
    LegendEntry entry = flow.entries[n];
    entry.swatch.x += place.plot.x;
    entry.swatch.y += top;
    const std::string& name = legend_name(panel.layers[entry.layer]);
    place.legend.push_back(entry);
    const Point at{place.plot.x + flow.text_at[n].x, top + flow.text_at[n].y};
    const double room = place.plot.right() - at.x;
    place.texts.push_back(
        {elided(metrics, name, size, std::max(room, 4 * size)), at, 0, size, false, style.foreground});
  }
}

// The widths of a strip's tokens with their pads, in text sizes: metrics are linear.
std::vector<double> advances_of(const TokenStrip& strip, const TextMetrics& metrics) {
  std::vector<double> advances;
  advances.reserve(strip.tokens.size());
  for (std::size_t n = 0; n < strip.tokens.size(); ++n) {
    advances.push_back(metrics.width(printable(name_of(strip.tokens, n)), 1) + 2 * kStripPad);
  }
  return advances;
}

// The tokens that begin the lines of `width` text sizes; a word that no line holds is broken anywhere.
std::vector<std::size_t> break_lines(const TokenStrip& strip, const std::vector<double>& advances, double width) {
  std::vector<std::size_t> lines = {0};
  std::size_t word = 0;  // where the present word began
  double x = 0;
  double word_x = 0;  // and how far along the line
  for (std::size_t n = 0; n < strip.tokens.size(); ++n) {
    if (n > 0 && ends_line(strip.tokens[n - 1]) && strip.tokens[n] != "\n" && strip.tokens[n] != "⏎") {
      lines.push_back(n);
      word = n;
      x = word_x = 0;
    } else if (n > 0 && begins_word(strip.tokens, n)) {
      word = n;
      word_x = x;
    }
    const double advance = std::min(advances[n], width);
    while (x > 0 && x + advance > width) {
      const bool whole = word > lines.back();
      lines.push_back(whole ? word : n);
      x = whole ? x - word_x : 0;
      word = lines.back();
      word_x = 0;
    }
    x += advance;
  }
  return lines;
}

}  // namespace

namespace {

// The line through a part of the title; where the part is broken between two lines, through the whole of them.
void place_strikes(const Panel& panel, const PanelDecor& decor, double center, double top, const Style& style,
                   const TextMetrics& metrics, PanelLayout& place) {
  constexpr double kHeight = 0.3;  // above the baseline, of the type
  if (panel.struck.empty() || panel.title.find(panel.struck) == std::string::npos) {
    return;
  }
  const double size = decor.title_size;
  const bool whole = std::ranges::none_of(
      decor.title, [&](const std::string& line) { return line.find(panel.struck) != std::string::npos; });
  double baseline = top + TextMetrics::ascent(size);
  for (const std::string& line : decor.title) {
    const std::size_t at = whole ? 0 : line.find(panel.struck);
    if (at != std::string::npos) {
      const double left = center - metrics.width(line, size) / 2 + metrics.width(line.substr(0, at), size);
      const double width = metrics.width(whole ? line : panel.struck, size);
      place.strikes.push_back({left, style.aligned(baseline - kHeight * size), width, style.line()});
    }
    baseline += TextMetrics::line_height(size);
  }
}

}  // namespace

void place_decor(const Panel& panel, const PanelDecor& decor, const Style& style, const TextMetrics& metrics,
                 PanelLayout& place) {
  const Rect& plot = place.plot;
  place.frame = panel.show_axes && !is_text(panel);
  place.x_ticks = decor.x.ticks;
  place.y_ticks = decor.y.ticks;
  if (place.frame) {
    place_x_labels(decor, style, place);
    place_y_labels(decor, style, place);
    const double tick_room = style.tick_length() + style.gap() / 2;
    place_blocks(panel.x, true, plot.bottom() + tick_room + decor.x.depth, style, metrics, place);
    place_blocks(panel.y, false, plot.x - tick_room - decor.y.depth, style, metrics, place);
    const double below = plot.bottom() + style.tick_length() + style.gap() + decor.x.depth + decor.x_blocks;
    stack(decor.x_label, plot.center_x(), below, 0.5, style.text_size, style.foreground, place.texts);
    const double label_room = static_cast<double>(decor.y_label.size()) * TextMetrics::line_height(style.text_size);
    const double left = plot.x - style.tick_length() - 1.5 * style.gap() - decor.y.depth - decor.y_blocks - label_room;
    stack_vertical(decor.y_label, left, plot.center_y(), style.text_size, style.foreground, place.texts);
  }
  if (color_bar_scale(panel)) {
    place_color_bar(panel, decor, style, place);
  }
  place_legend(panel, style, metrics, place);
  const double title_height = static_cast<double>(decor.title.size()) * TextMetrics::line_height(decor.title_size);
  const double top = plot.y - decor.title_above - title_height;
  stack(decor.title, plot.center_x(), top, 0.5, decor.title_size, style.foreground, place.texts);
  place_strikes(panel, decor, plot.center_x(), top, style, metrics, place);
  const double note_top = plot.bottom() + decor.margins.bottom -
                          static_cast<double>(decor.note.size()) * TextMetrics::line_height(style.note_text());
  stack(decor.note, plot.x - decor.margins.left, note_top, 0, style.note_text(), style.muted, place.texts);
}

double strip_line_height(double size, const Style& style) {
  return style.aligned(1.6 * size);
}

double strip_text_size(const TokenStrip& strip, double width, double height, const Style& style,
                       const TextMetrics& metrics) {
  const double smallest = style.readable(kSmallestStrip * style.text_size);
  double size = kLargestStrip * style.text_size;
  const std::vector<double> advances = advances_of(strip, metrics);
  while (size > smallest) {
    const std::vector<std::size_t> lines = break_lines(strip, advances, width / size);
    if (static_cast<double>(lines.size()) * strip_line_height(size, style) <= height) {
      break;
    }
    size = std::max(smallest, 0.95 * size);
  }
  return size;
}

std::vector<TokenBox> flow_tokens(const TokenStrip& strip, double width, double size, const Style& style,
                                  const TextMetrics& metrics) {
  std::vector<TokenBox> boxes;
  const double pad = kStripPad * size;
  const double line = strip_line_height(size, style);
  const double height = style.aligned(1.35 * size);
  const std::vector<double> advances = advances_of(strip, metrics);
  const std::vector<std::size_t> lines = break_lines(strip, advances, width / size);
  for (std::size_t row = 0; row < lines.size(); ++row) {
    const std::size_t end = row + 1 < lines.size() ? lines[row + 1] : strip.tokens.size();
    const double y = static_cast<double>(row) * line;
    double x = 0;
    for (std::size_t n = lines[row]; n < end; ++n) {
      const std::string text =
          elided(metrics, printable(name_of(strip.tokens, n)), size, std::max(width - 2 * pad, 0.0));
      const double advance = std::min(advances[n] * size, width);
      boxes.push_back({static_cast<std::int64_t>(n), {x, y, advance, height}, text});
      x += advance;
    }
  }
  return boxes;
}

}  // namespace locus::figure
