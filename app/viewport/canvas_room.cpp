#include "app/viewport/canvas_room.h"

#include <algorithm>
#include <cmath>

namespace locus::viewport {

namespace {

constexpr double kBeside = 14;        // pixels from the pointer
constexpr double kLeastLetters = 11;  // of a line in a margin, in text sizes of half a letter each
constexpr int kMaxLines = 7;          // in a margin
constexpr double kPad = 0.6;          // around a caption, in text sizes
constexpr double kClear = 2;          // pixels between a box and a text that it does not cover

bool holds(const figure::Rect& area, const figure::Rect& box) {
  return box.x >= area.x && box.y >= area.y && box.right() <= area.right() && box.bottom() <= area.bottom();
}

// Behind the point, or before it where there is no room, or as far as the area goes.
double beside(double at, double size, double low, double high) {
  if (at + kBeside + size <= high) {
    return at + kBeside;
  }
  if (at - kBeside - size >= low) {
    return at - kBeside - size;
  }
  return std::max(low, std::min(at + kBeside, high - size));
}

}  // namespace

figure::Rect box_beside(const figure::Point& at, const figure::Point& size, const std::vector<figure::Rect>& areas) {
  figure::Rect box;
  for (const figure::Rect& area : areas) {
    box = {beside(at.x, size.x, area.x, area.right()), beside(at.y, size.y, area.y, area.bottom()), size.x, size.y};
    if (holds(area, box) && !box.contains(at.x, at.y)) {
      return box;
    }
  }
  return box;
}

Margins free_margins(const figure::Layout& layout, const figure::TextMetrics& metrics) {
  double low = layout.width;
  double high = 0;
  const auto take = [&](double left, double right) {
    low = std::min(low, left);
    high = std::max(high, right);
  };
  const auto take_texts = [&](const std::vector<figure::PlacedText>& texts) {
    for (const figure::PlacedText& text : texts) {
      const double width = text.vertical ? text.size : metrics.width(text.text, text.size);
      const double left = text.vertical ? text.at.x - text.size : text.at.x - text.align * width;
      take(left, left + width + (text.vertical ? text.size : 0));
    }
  };
  take_texts(layout.texts);
  for (const figure::PanelLayout& panel : layout.panels) {
    take(panel.plot.x, panel.plot.right());
    if (panel.color_bar.width > 0) {
      take(panel.color_bar.x, panel.color_bar.right());
    }
    for (const figure::PlacedBlock& block : panel.y_blocks) {
      take(block.picture.empty() ? block.line.x : block.picture.x, block.line.right());
    }
    take_texts(panel.texts);
  }
  return {{0, 0, std::max(low, 0.0), layout.height}, {high, 0, std::max(layout.width - high, 0.0), layout.height}};
}

std::optional<PlacedCaption> caption_in_margins(const std::string& text, double size, const figure::Layout& layout,
                                                const figure::TextMetrics& metrics, double top) {
  const Margins margins = free_margins(layout, metrics);
  const figure::Rect& area = margins.left.width >= margins.right.width ? margins.left : margins.right;
  const double width = area.width - 2 * kPad * size;
  if (width < kLeastLetters * size / 2) {
    return std::nullopt;
  }
  std::vector<std::string> lines = figure::wrapped(metrics, text, size, width, kMaxLines);
  const bool whole = !lines.empty() && !lines.back().ends_with("…");
  const double height = static_cast<double>(lines.size()) * figure::TextMetrics::line_height(size);
  if (!whole || top + height + 2 * kPad * size > area.height) {
    return std::nullopt;
  }
  return PlacedCaption{{area.x + kPad * size, top + kPad * size, width, height}, std::move(lines), size, false};
}

PlacedCaption caption_below(const std::string& text, double size, double width, double height,
                            const figure::TextMetrics& metrics) {
  const double room = std::max(width - 2 * kPad * size, size);
  std::vector<std::string> lines = figure::wrapped(metrics, text, size, room, 2);
  const double high = static_cast<double>(lines.size()) * figure::TextMetrics::line_height(size) + kPad * size;
  return {{kPad * size, height - high, room, high}, std::move(lines), size, true};
}

PlacedCaption statement_above(const std::string& text, double size, double width, const figure::TextMetrics& metrics) {
  const double room = std::max(width - 2 * kPad * size, size);
  std::vector<std::string> lines{figure::elided(metrics, text, size, room)};
  const double wide = std::min(metrics.width(lines.front(), size), room);
  return {{kPad * size, kPad * size / 2, wide, figure::TextMetrics::line_height(size)}, std::move(lines), size, false};
}

std::vector<figure::Rect> text_places(const figure::Layout& layout, const figure::TextMetrics& metrics) {
  std::vector<figure::Rect> list;
  const auto add = [&](const figure::Rect& rect) {
    if (!rect.empty()) {
      list.push_back(rect);
    }
  };
  const auto add_texts = [&](const std::vector<figure::PlacedText>& texts) {
    for (const figure::PlacedText& text : texts) {
      const double length = metrics.width(text.text, text.size);
      const double ascent = figure::TextMetrics::ascent(text.size);
      const double height = ascent + figure::TextMetrics::descent(text.size);
      add(text.vertical ? figure::Rect{text.at.x - ascent, text.at.y - (1 - text.align) * length, height, length}
                        : figure::Rect{text.at.x - text.align * length, text.at.y - ascent, length, height});
    }
  };
  add_texts(layout.texts);
  for (const figure::PanelLayout& panel : layout.panels) {
    add_texts(panel.texts);
  }
  return list;
}

std::vector<figure::Rect> drawn_places(const figure::Layout& layout, const figure::TextMetrics& metrics) {
  std::vector<figure::Rect> list = text_places(layout, metrics);
  const auto add = [&](const figure::Rect& rect) {
    if (!rect.empty()) {
      list.push_back(rect);
    }
  };
  for (const figure::PanelLayout& panel : layout.panels) {
    add(panel.plot);
    add(panel.color_bar);
    for (const figure::LegendEntry& entry : panel.legend) {
      add(entry.swatch);
    }
    for (const std::vector<figure::PlacedBlock>* blocks : {&panel.x_blocks, &panel.y_blocks}) {
      for (const figure::PlacedBlock& block : *blocks) {
        add(block.line);
        add(block.picture);
      }
    }
  }
  return list;
}

double clear_top(const figure::Rect& box, double height, const std::vector<figure::Rect>& texts) {
  const double last = std::max(0.0, height - box.height);
  std::vector<double> tops{std::clamp(box.y, 0.0, last)};
  for (const figure::Rect& text : texts) {
    if (text.x < box.right() && text.right() > box.x) {
      tops.push_back(std::clamp(text.y - kClear - box.height, 0.0, last));
      tops.push_back(std::clamp(text.bottom() + kClear, 0.0, last));
    }
  }
  const auto covered = [&](double top) {
    const figure::Rect there{box.x, top, box.width, box.height};
    return std::ranges::count_if(texts, [&](const figure::Rect& text) { return !there.intersected(text).empty(); });
  };
  std::ranges::stable_sort(tops, {}, [&](double top) { return std::abs(top - box.y); });
  return *std::ranges::min_element(tops, {}, covered);
}

figure::Layout moved_down(figure::Layout layout, double by) {
  layout.height += by;
  const auto move_texts = [by](std::vector<figure::PlacedText>& texts) {
    for (figure::PlacedText& text : texts) {
      text.at.y += by;
    }
  };
  move_texts(layout.texts);
  for (figure::PanelLayout& panel : layout.panels) {
    for (figure::Rect* rect : {&panel.slot, &panel.plot, &panel.color_bar}) {
      rect->y += by;
    }
    panel.y.begin += by;
    panel.y.end += by;
    for (figure::LegendEntry& entry : panel.legend) {
      entry.swatch.y += by;
    }
    for (std::vector<figure::PlacedBlock>* blocks : {&panel.x_blocks, &panel.y_blocks}) {
      for (figure::PlacedBlock& block : *blocks) {
        block.line.y += by;
        block.picture.y += by;
      }
    }
    for (figure::TokenBox& token : panel.tokens) {
      token.box.y += by;
    }
    move_texts(panel.texts);
  }
  return layout;
}

}  // namespace locus::viewport
