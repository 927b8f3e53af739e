// InstrumentSet: the instruments over the figure: which are seen, where they stand, which has the keyboard.
#pragma once

#include <QObject>
#include <QPointer>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/viewport/canvas.h"
#include "app/workbench/canvas/instruments/instrument.h"

class QKeyEvent;

namespace locus::workbench {

// What the canvas shows and what is under the pointer, as of the latest content of the canvas.
struct CanvasSnapshot {
  views::ViewInput input;
  std::optional<views::Camera> home;
  std::optional<figure::Hit> hit;
  views::Selection hover;
  std::size_t column = 0;
  std::string statement;
};

class InstrumentSet : public QObject, public viewport::Overlay {
  Q_OBJECT

 public:
  InstrumentSet(Studio& studio, viewport::Canvas& canvas);
  ~InstrumentSet() override;

  // What is shown from the next frame on.
  void show(CanvasSnapshot snapshot);
  // None of them: the figure alone.
  void set_hidden(bool hidden);

  // A key of the canvas: the keyboard goes to the next instrument, the one that has it does something, one is shown or
  // hidden. What needs the figure as it is to be drawn waits for that frame, and what comes after it too; unused() says
  // of those that nobody took. False: none of that.
  bool press(const QKeyEvent& event);
  // The keyboard is elsewhere.
  void leave();
  // A line between two places of the figure; not finished: its end still moves.
  void pull_measure(const figure::Hit& from, const figure::Hit& to, bool finished);

  // Whether one of them is drawn beside the maps, which leave it room.
  bool wants_room() const;

  // For tests: where an instrument stood in the last frame (none: it was not offered), and which has the keyboard.
  std::vector<figure::Rect> areas_of(const std::string& name) const;
  std::string focused() const;
  bool has_menu() const { return has_menu_; }
  Instrument* find(const std::string& name) const;

  const std::string& statement() const override { return statement_; }
  void draw(const viewport::OverlayFrame& frame, viewport::ImGuiBridge& imgui) override;
  bool covers(const figure::Point& at) const override;
  bool says_cell() const override;
  void measured(const viewport::FrameCost& cost) override;
  const viewport::FrameCost& cost() const { return cost_; }

 Q_SIGNALS:
  // Which has the keyboard and what it says, for screen readers; both empty: none.
  void said(const QString& title, const QString& value);
  // A key that had to wait and is none of theirs.
  void unused(QKeyEvent* event);

 private:
  struct Seen {
    Instrument* instrument = nullptr;
    std::vector<figure::Rect> areas;
  };
  InstrumentFrame frame_of(const viewport::OverlayFrame& canvas, viewport::ImGuiBridge& imgui, bool focused);
  viewport::OverlayFrame last_canvas() const;
  void draw_areas(const Seen& seen, const viewport::OverlayFrame& frame, viewport::ImGuiBridge& imgui);
  bool waits() const;
  bool press_now(const QKeyEvent& event);
  void press_next();
  Instrument* toggled_by(int key) const;
  bool move_focus(bool forward);
  void say();

  Studio& studio_;
  viewport::Canvas& canvas_;
  const QPointer<viewport::Canvas> there_;  // null once it has gone
  Gesture gesture_;
  std::vector<std::unique_ptr<Instrument>> instruments_;
  const std::function<void()> redraw_;
  CanvasSnapshot snapshot_;
  std::string statement_;
  bool hidden_ = false;
  bool has_menu_ = false;  // in the last frame
  bool closes_menus_ = false;
  std::vector<Seen> seen_;  // in the last frame
  Instrument* focus_ = nullptr;
  Instrument* toggled_ = nullptr;                // by its key, the latest
  std::deque<std::unique_ptr<QKeyEvent>> keys_;  // that wait for a frame
  std::vector<figure::Rect> drawn_;
  std::uint64_t drawn_of_ = 0;  // the layout they are of
  viewport::OverlayFrame last_;
  viewport::FrameCost cost_;
};

}  // namespace locus::workbench
