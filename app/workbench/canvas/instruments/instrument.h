// Instrument: what belongs to the picture and stands on it: handles on the colour bar, a matrix of the heads, a
// magnifier. Each is one file of this folder and a line of instruments.cpp, drawn with Dear ImGui in each frame; what
// it chooses it writes to the view's state, like any control. What can be computed without ImGui is a function of its
// own.
#pragma once

#include <Qt>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/viewport/imgui_context.h"
#include "app/viewport/overlay.h"
#include "app/workbench/canvas/instruments/gesture.h"
#include "app/workbench/state/studio.h"

namespace locus::workbench {

// What an instrument sees of a frame. Places are device pixels.
struct InstrumentFrame {
  const viewport::OverlayFrame& canvas;
  viewport::ImGuiBridge& imgui;
  Studio& studio;
  Gesture& gesture;
  const views::View& view;
  const views::ViewInput& input;           // of the figure that is shown; without columns nothing can be pointed at
  std::optional<views::Camera> home;       // the whole of the axes; empty: cannot be zoomed
  std::optional<figure::Hit> hit;          // of the pointer on the figure, not on an instrument
  views::Selection hover;                  // what that stands for
  std::size_t column = 0;                  // that is chosen
  bool focused = false;                    // this one has the keyboard
  const std::vector<figure::Rect>& drawn;  // what the figure draws
  const std::function<void()>& redraw;     // asks for another frame, at any time
  bool closes_menus = false;               // Escape was pressed over an open one

  const session::ViewState& state() const { return gesture.state(); }
  const figure::Figure* figure() const { return canvas.figure; }
  const figure::Layout* layout() const { return canvas.layout; }
  double pad() const { return canvas.text * 0.5; }
  double line() const { return canvas.text * 1.45; }
};

// A key that was pressed while an instrument had the keyboard.
struct InstrumentKey {
  int key = 0;
  Qt::KeyboardModifiers modifiers;
};

class Instrument {
 public:
  virtual ~Instrument() = default;

  virtual std::string name() const = 0;   // "colour-bar", in tests
  virtual std::string title() const = 0;  // "Colour bar": said by a screen reader, with said()
  // Whether there is something to show of this view and figure.
  virtual bool offered(const InstrumentFrame& frame) const = 0;
  // The rectangles that are its own, where the mouse is not the figure's; `taken`: those of the others. None for what
  // is only seen.
  virtual std::vector<figure::Rect> areas(const InstrumentFrame& frame, const std::vector<figure::Rect>& taken) = 0;
  // Draws one of them, within a window of ImGui that covers it.
  virtual void draw(const InstrumentFrame& frame, std::size_t n, const figure::Rect& area) = 0;
  // Draws what is only seen, below the areas of all.
  virtual void draw_below(const InstrumentFrame& /*frame*/) {}
  // On the window's thread, whenever what is shown has changed: asks for what is measured in the background.
  virtual void update(const InstrumentFrame& /*frame*/) {}
  // What it says now: "head 3.2, previous 0.82".
  virtual std::string said(const InstrumentFrame& frame) const = 0;
  // Whether Tab comes to it, and what keys do there; false: the key is not its own.
  virtual bool takes_keys() const { return true; }
  virtual bool press(const InstrumentFrame& /*frame*/, const InstrumentKey& /*key*/) { return false; }
  // The key that shows, hides or folds it whatever has the keyboard; 0: none.
  virtual int toggle_key() const { return 0; }
  virtual void toggle(const InstrumentFrame& /*frame*/) {}
  // The same key with Shift; false: that means nothing.
  virtual bool toggle_with_shift(const InstrumentFrame& /*frame*/) { return false; }
  // Whether it is drawn above and beside the maps, under that state.
  virtual bool wants_room(const session::ViewState& /*state*/) const { return false; }
  // The area that stands for it while it has the keyboard.
  virtual std::size_t focused_area() const { return 0; }
};

// One of each, in the order of Tab.
std::vector<std::unique_ptr<Instrument>> make_instruments();

}  // namespace locus::workbench
