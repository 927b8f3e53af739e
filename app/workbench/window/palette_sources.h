// What the palette offers, as lists of commands.
#pragma once

#include <vector>

#include "app/workbench/window/command_palette.h"

class QMenu;
class QWidget;

namespace locus::workbench {

class Studio;

void append(std::vector<Command>& list, std::vector<Command> more);
// The entries of a menu that can be chosen now, and of menus in it; their names begin with `path`.
std::vector<Command> menu_commands(const QString& path, QMenu& menu);
// The switches of a panel.
std::vector<Command> switch_commands(const QString& path, const QWidget& panel);
// The layers, heads, checkpoints and figures that there are.
std::vector<Command> place_commands(Studio& studio);
// The options of the present view, as they stand below the figure of `window`.
std::vector<Command> option_commands(Studio& studio, QWidget& window);
// What the bar above the canvas and the colours of the inspector set.
std::vector<Command> state_commands(Studio& studio, QWidget& window);

}  // namespace locus::workbench
