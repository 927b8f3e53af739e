// The table of the window's commands: what its menus say, in their order.
#pragma once

#include "app/workbench/window/window_parts.h"

namespace locus::workbench {

// Adds them to the registry. All parts are there, and outlive it.
void add_window_commands(const WindowParts& parts);

}  // namespace locus::workbench
