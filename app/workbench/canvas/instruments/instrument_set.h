// InstrumentSet: the instruments over the figure: which are visible, where they are, which has the keyboard.
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

// Input, camera and pointer of the latest content of the canvas.
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

  // Sets what the instruments refer to from the next frame on.
  void show(CanvasSnapshot snapshot);
  // Hides all instruments.
  void set_hidden(bool hidden);

  // Handles a key of the canvas: moves the keyboard to the next instrument, passes the key to the one that has it, or
  // shows or hides one. Keys that depend on a figure not yet drawn wait for its frame, as do later keys; unused()
  // follows for those that no instrument takes. False: the key was not used.
  bool press(const QKeyEvent& event);
  // Takes the keyboard away from the instruments.
  void leave();
  // Draws a measuring line between two points of the figure; not `finished`: its end still moves.
  void pull_measure(const figure::Hit& from, const figure::Hit& to, bool finished);

  // Whether a visible instrument needs room beside the maps.
  bool wants_room() const;
  // Where the wipe is, as the camera counts; empty: it is off.
  std::optional<double> wipe() const;

  // For tests: rectangles of an instrument in the last frame (empty: not offered), and the name of the focused one.
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
  // Title and value of the instrument that has the keyboard, for screen readers; both empty: none.
  void said(const QString& title, const QString& value);
  void head_clicked();  // in the matrix of heads
  // A key that had to wait and was not used.
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
  const QPointer<viewport::Canvas> there_;  // null once the canvas is destroyed
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
  Instrument* toggled_ = nullptr;                // shown by its key most recently
  std::deque<std::unique_ptr<QKeyEvent>> keys_;  // waiting for a frame
  std::vector<figure::Rect> drawn_;
  std::uint64_t drawn_of_ = 0;  // layout of drawn_
  viewport::OverlayFrame last_;
  viewport::FrameCost cost_;
};

}  // namespace locus::workbench
