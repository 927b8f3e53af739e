// Measures (M, or a drag with Alt): what lies between two cells, as a line that stays.
#pragma once

#include "app/workbench/canvas/instruments/instrument.h"

namespace locus::workbench {

class MeasureLines final : public Instrument {
 public:
  // A line from one place of the figure to another, of which the second still moves until it is finished: then it is
  // one of the state's marks.
  void pull(const InstrumentFrame& frame, const figure::Hit& from, const figure::Hit& to, bool finished);

  std::string name() const override { return "measure"; }
  std::string title() const override { return "Measures"; }
  bool takes_keys() const override { return false; }
  int toggle_key() const override { return Qt::Key_M; }
  // Begins at the pointed cell, or the pinned one; again: ends there, or where nothing is pointed at takes all away.
  void toggle(const InstrumentFrame& frame) override;
  // Takes the latest away.
  bool toggle_with_shift(const InstrumentFrame& frame) override;
  bool offered(const InstrumentFrame& frame) const override;
  std::vector<figure::Rect> areas(const InstrumentFrame& frame, const std::vector<figure::Rect>& taken) override;
  void draw(const InstrumentFrame& frame, std::size_t n, const figure::Rect& area) override;
  void draw_below(const InstrumentFrame& frame) override;
  std::string said(const InstrumentFrame& frame) const override;
  // Whether the box of a line that is being drawn was shown in the last frame.
  bool going_on() const { return going_on_; }

 private:
  struct Line {
    figure::Hit from;
    figure::Hit to;
  };
  // Whether it is still being drawn: its box then says where it is, and nothing else does.
  void draw_line(const InstrumentFrame& frame, const Line& line, bool going_on);
  void settle(const InstrumentFrame& frame);

  std::string view_;                  // whose places these are
  std::optional<Line> pulled_;        // with the mouse
  std::optional<figure::Hit> begun_;  // with the key
  std::vector<figure::Rect> boxes_;   // of the lines of this frame
  bool going_on_ = false;
};

std::unique_ptr<Instrument> make_measure();

}  // namespace locus::workbench
