// Preferences: settings of the program on this machine: threads, memory limit, text size, theme.
#pragma once

#include "app/workbench/window/run_workbench.h"
#include "app/workbench/work/columns.h"

class QSettings;
class QWidget;

namespace locus::workbench {

class LayoutController;

// Applies the stored threads and memory limit, unless the options of this start set them.
void restore_preferences(const QSettings& settings, Columns& columns, const WorkbenchOptions& options);
// Shows the dialog, then applies and stores what was chosen.
void choose_preferences(QWidget& window, QSettings& settings, Columns& columns, LayoutController& layout);

}  // namespace locus::workbench
