// CanvasContent: everything the canvas shows in a frame, and the interface the canvas asks for it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/views/shared/parameters.h"
#include "renderers/figure/figure.h"

namespace locus::viewport {

// A rectangle in data units drawn over a panel: the cell under the pointer, the pinned cell.
struct Outline {
  std::size_t panel = 0;
  figure::Interval x;
  figure::Interval y;
  std::uint32_t color = 0xFFFFFFFF;  // RRGGBBAA
  bool cross = false;                // draws lines from the rectangle to the axes
};

// A number at the pointer with a bar that shows its size: "previous ▆▆▁▁ 0.82".
struct Bar {
  std::string label;
  double share = 0;  // filled part of the bar, [0, 1]
  std::string text;
};

// A value on the colour bar beside a panel.
struct BarTick {
  std::size_t panel = 0;
  float value = 0;
};

// The box at the pointer: what is drawn there, then where it is, then other numbers, small.
struct Tooltip {
  std::vector<std::string> lines;
  std::size_t small = 0;  // so many lines at the end
  std::optional<BarTick> tick;

  bool empty() const { return lines.empty(); }
  // What is copied.
  std::string text() const {
    std::string all;
    for (const std::string& line : lines) {
      all += (all.empty() ? "" : "\n") + line;
    }
    return all;
  }
};

// All members are copies or immutable.
struct CanvasContent {
  std::shared_ptr<const figure::Figure> figure;  // null: only the message is shown
  std::string message;                           // in the middle, for empty and failed states
  std::optional<views::Camera> home;             // full extent of the axes; empty: the figure cannot be zoomed
  std::optional<views::Camera> camera;           // visible part; empty: home
  bool lasso = false;                            // dragging the pointer draws a lasso
  std::vector<Outline> outlines;
  Tooltip tooltip;        // empty: none
  std::vector<Bar> bars;  // below the lines of the tooltip
  std::string badge;      // at the upper left: "reference: text-rope"
  std::string note;       // at the lower edge: how the figure is incomplete or out of date
  bool dim = false;       // the figure is out of date
  std::string caption;    // one sentence beside the figure; empty: none
  bool dark = false;
  double scale = 1;  // of text
};

// Implemented by the owner of the data. The canvas calls content() at most once per change, before the next frame or
// the next input event.
class ContentSource {
 public:
  virtual ~ContentSource() = default;
  virtual CanvasContent content() = 0;
  // Milliseconds for which a frame is better put off, since another figure is about to come; 0: none. A frame drawn now
  // would delay that figure by its own time. Asked before each frame; it must reach 0 by itself.
  virtual int wait_ms() { return 0; }
};

}  // namespace locus::viewport
