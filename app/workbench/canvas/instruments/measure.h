// MeasureLines (M, or a drag with Alt): persistent lines between two cells, with the distance between them.
#pragma once

#include "app/workbench/canvas/instruments/instrument.h"

namespace locus::workbench {

class MeasureLines final : public Instrument {
 public:
  // Draws a line between two points of the figure. Once `finished` it becomes one of the state's marks.
  void pull(const InstrumentFrame& frame, const figure::Hit& from, const figure::Hit& to, bool finished);

  std::string name() const override { return "measure"; }
  std::string title() const override { return "Measures"; }
  bool takes_keys() const override { return false; }
  int toggle_key() const override { return Qt::Key_M; }
  // Begins a line at the cell under the pointer or the pinned one; again: ends it, or removes all lines if the pointer
  // is on no cell.
  void toggle(const InstrumentFrame& frame) override;
  // Removes the latest line.
  bool toggle_with_shift(const InstrumentFrame& frame) override;
  bool offered(const InstrumentFrame& frame) const override;
  std::vector<figure::Rect> areas(const InstrumentFrame& frame, const std::vector<figure::Rect>& taken) override;
  void draw(const InstrumentFrame& frame, std::size_t n, const figure::Rect& area) override;
  void draw_below(const InstrumentFrame& frame) override;
  std::string said(const InstrumentFrame& frame) const override;
  // Whether the text box of an unfinished line was shown in the last frame.
  bool going_on() const { return going_on_; }

 private:
  struct Line {
    figure::Hit from;
    figure::Hit to;
  };
  // Whether the line is unfinished: its box then replaces the tooltip.
  void draw_line(const InstrumentFrame& frame, const Line& line, bool going_on);
  void settle(const InstrumentFrame& frame);

  std::string view_;                  // the view these points belong to
  std::optional<Line> pulled_;        // being drawn with the mouse
  std::optional<figure::Hit> begun_;  // being drawn with the key
  std::vector<figure::Rect> boxes_;   // of the lines of this frame
  bool going_on_ = false;
};

}  // namespace locus::workbench
