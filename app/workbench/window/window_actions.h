// What commands of the window do that no part of it does by itself: dialogs that ask before, menus that are filled.
#pragma once

#include "app/workbench/export/export.h"
#include "app/workbench/window/window_parts.h"

class QMenu;

namespace locus::workbench {

// Asks for a folder, and exports every figure of the session into it.
void export_session(const WindowParts& parts);
// Says that it is on the clipboard, or why not.
Copied copied(const WindowParts& parts, const QString& what);
// Asks for a name, under which the present view joins the figures of the session.
void keep_view(const WindowParts& parts);
// Everything that can be done now, found by its name.
void show_palette(const WindowParts& parts);
void show_welcome(const WindowParts& parts);
// The figures of the session, as entries that show them.
void fill_figures(const WindowParts& parts, QMenu& menu);

}  // namespace locus::workbench
