// Commands of the command palette.
#pragma once

#include <vector>

#include "app/workbench/window/command_palette.h"

class QMenu;
class QWidget;

namespace locus::workbench {

class Studio;

void append(std::vector<Command>& list, std::vector<Command> more);
// The enabled entries of a menu and its submenus; their names begin with `path`.
std::vector<Command> menu_commands(const QString& path, QMenu& menu);
// The head that is typed: "head 3.2", "3.2", "layer 3 head 2".
std::vector<Command> head_commands(Studio& studio, const QString& typed);
// The edit that is typed ("head 0.3 zero"), of each shown checkpoint; a checkpoint that it does not fit says why.
std::vector<Command> edit_commands(Studio& studio, const QString& typed);
// The check boxes of a panel.
std::vector<Command> switch_commands(const QString& path, const QWidget& panel);
// The buttons of a panel; those that are disabled say why.
std::vector<Command> button_commands(const QString& path, const QWidget& panel);
// Layers, heads, checkpoints and figures to go to.
std::vector<Command> place_commands(Studio& studio);
// The options of the present view below the figure of `window`.
std::vector<Command> option_commands(Studio& studio, QWidget& window);
// The fields of the bar above the canvas and of the colours in the inspector.
std::vector<Command> state_commands(Studio& studio, QWidget& window);

}  // namespace locus::workbench
