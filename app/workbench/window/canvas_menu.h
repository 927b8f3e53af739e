// The context menu of a place on the canvas.
#pragma once

#include <QPoint>

#include "app/workbench/canvas/canvas_actions.h"
#include "app/workbench/canvas/canvas_pointer.h"
#include "app/workbench/state/studio.h"

class QWidget;

namespace locus::workbench {

class CommandRegistry;
class EditActions;

// Objects that the entries of the menu act on.
struct CanvasMenuParts {
  QWidget& window;
  Studio& studio;
  CanvasActions& actions;
  EditActions& edits;
  const CommandRegistry& commands;
};

// Shows the menu; it deletes itself when closed.
void show_canvas_menu(const CanvasMenuParts& parts, const CanvasPlace& place, const QPoint& at);

}  // namespace locus::workbench
