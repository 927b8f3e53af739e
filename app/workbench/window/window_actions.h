// Actions of the window's commands that involve several parts of it: dialogs, the palette, filled menus.
#pragma once

#include "app/workbench/export/clipboard.h"

class QMainWindow;
class QMenu;
class QWidget;

namespace locus::workbench {

class FiguresDock;
class InputDock;
class MessageBar;
class Studio;

// Asks for a folder and exports every figure of the session into it.
void export_session(QWidget& window, Studio& studio, MessageBar& messages);
// A callback that reports that `what` was copied to the clipboard, or the error.
Copied copied(MessageBar& messages, const QString& what);
// Asks for a name and adds the present view to the figures of the session.
void keep_view(QWidget& window, Studio& studio);
// Shows the command palette: everything that can be done now, found by name.
void show_palette(QMainWindow& window, Studio& studio, InputDock& input);
// Fills a menu with the figures of the session; `panel` lists those for which the menu has no room.
void fill_figures(QMenu& menu, Studio& studio, FiguresDock& panel);

}  // namespace locus::workbench
