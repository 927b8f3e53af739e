// Preferences: what the user sets once for this machine.
#pragma once

#include "app/workbench/window/run_workbench.h"
#include "app/workbench/window/window_parts.h"

namespace locus::workbench {

// What was chosen the last time, where the options of this start do not say otherwise.
void restore_preferences(const WindowParts& parts, const WorkbenchOptions& options);
// Asks for threads, memory, text size and theme, and applies them.
void choose_preferences(const WindowParts& parts);

}  // namespace locus::workbench
