// Instrument: an interactive part of the figure, drawn over it with Dear ImGui: handles on the colour bar, a matrix of
// the heads, a magnifier. Its choices go to the view's state, like those of any control. Computations without ImGui are
// separate functions.
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

// Everything an instrument needs in a frame. Coordinates are device pixels.
struct InstrumentFrame {
  const viewport::OverlayFrame& canvas;
  viewport::ImGuiBridge& imgui;
  Studio& studio;
  Gesture& gesture;
  const views::View& view;
  const views::ViewInput& input;           // of the shown figure; without columns it has no places
  std::optional<views::Camera> home;       // full extent of the axes; empty: cannot be zoomed
  std::optional<figure::Hit> hit;          // of the pointer, if it is on the figure and not on an instrument
  views::Selection hover;                  // what the view has at that point
  std::size_t column = 0;                  // the chosen column
  bool focused = false;                    // this instrument has the keyboard
  const std::vector<figure::Rect>& drawn;  // rectangles drawn by the figure
  const std::function<void()>& redraw;     // requests another frame; may be called at any time
  bool closes_menus = false;               // Escape was pressed while a menu was open

  const session::ViewState& state() const { return gesture.state(); }
  const figure::Figure* figure() const { return canvas.figure; }
  const figure::Layout* layout() const { return canvas.layout; }
  double pad() const { return canvas.text * 0.5; }
  double line() const { return canvas.text * 1.45; }
};

// A key pressed while an instrument has the keyboard.
struct InstrumentKey {
  int key = 0;
  Qt::KeyboardModifiers modifiers;
};

class Instrument {
 public:
  virtual ~Instrument() = default;

  virtual std::string name() const = 0;   // "colour-bar", in tests
  virtual std::string title() const = 0;  // "Colour bar", for screen readers, followed by said()
  // Whether it applies to this view and figure.
  virtual bool offered(const InstrumentFrame& frame) const = 0;
  // Rectangles in which it receives the mouse instead of the figure. `taken`: those of other instruments and of the
  // figure. Empty for instruments without interaction.
  virtual std::vector<figure::Rect> areas(const InstrumentFrame& frame, const std::vector<figure::Rect>& taken) = 0;
  // Draws the n-th of its rectangles, in an ImGui window that covers it.
  virtual void draw(const InstrumentFrame& frame, std::size_t n, const figure::Rect& area) = 0;
  // Draws parts without interaction, below the rectangles of all instruments.
  virtual void draw_below(const InstrumentFrame& /*frame*/) {}
  // Called after every change of the content, outside of frames: requests background measurements.
  virtual void update(const InstrumentFrame& /*frame*/) {}
  // Its present value for screen readers: "head 3.2, previous 0.82".
  virtual std::string said(const InstrumentFrame& frame) const = 0;
  // Whether Tab stops at it, and its handling of keys there; press() returns false for keys it does not use.
  virtual bool takes_keys() const { return true; }
  virtual bool press(const InstrumentFrame& /*frame*/, const InstrumentKey& /*key*/) { return false; }
  // The key that shows, hides or folds it from everywhere on the canvas; 0: none.
  virtual int toggle_key() const { return 0; }
  virtual void toggle(const InstrumentFrame& /*frame*/) {}
  // The same key with Shift; false: not used.
  virtual bool toggle_with_shift(const InstrumentFrame& /*frame*/) { return false; }
  // Whether it needs room above and beside the maps in that state.
  virtual bool wants_room(const session::ViewState& /*state*/) const { return false; }
  // Index of the rectangle that is framed while it has the keyboard.
  virtual std::size_t focused_area() const { return 0; }
};

}  // namespace locus::workbench
