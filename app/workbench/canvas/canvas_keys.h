// CanvasKeys: the keys of the canvas (manual page "keys"). Keys go to the instruments first, then to lists of heads,
// then to the actions of the canvas; the window gets the others.
#pragma once

#include <QObject>

#include "app/viewport/canvas.h"
#include "app/workbench/canvas/canvas_actions.h"
#include "app/workbench/canvas/canvas_pointer.h"
#include "app/workbench/canvas/instruments/instrument_set.h"
#include "app/workbench/state/studio.h"

namespace locus::workbench {

class CanvasKeys : public QObject {
  Q_OBJECT

 public:
  CanvasKeys(Studio& studio, viewport::Canvas& canvas, CanvasPointer& pointer, CanvasActions& actions,
             InstrumentSet& instruments);

  // Moves through a list of heads, or opens the chosen row (Enter). False: the view has no list, or the key is no
  // movement.
  bool press_in_list(int key);

 Q_SIGNALS:
  void help_requested();
  // Enter on a cell that stands for an edit of the model: that edit is to become a column beside `column`.
  void edit_chosen(std::size_t column, const locus::models::Edit& edit);
  void tab_pressed(bool forward);  // moves to the next or previous control of the window
  void key_unused(QKeyEvent* event);
  void left();  // Esc, and no cell was pinned

 private:
  void press(QKeyEvent* event);
  void press_unused(QKeyEvent* event);
  void release(QKeyEvent* event);
  bool press_plain(int key);
  bool press_edit(int key);
  void leave();

  Studio& studio_;
  viewport::Canvas& canvas_;
  CanvasPointer& pointer_;
  CanvasActions& actions_;
  InstrumentSet& instruments_;
};

}  // namespace locus::workbench
