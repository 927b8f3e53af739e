// Taking figures and numbers out of the window: exactly what is shown, with its recipe.
#pragma once

#include <string>

#include "app/workbench/studio.h"

class QWidget;

namespace locus::workbench {

// The current view as JSON: what `locus figure --recipe` needs to make it again, apart from the program's version.
std::string recipe_of(const Studio& studio);

// Each asks for a file and options, writes on this thread with a message on failure, and returns what was written,
// empty when the user thought better of it.
QString export_figure(QWidget* parent, Studio& studio);
QString export_data(QWidget* parent, Studio& studio);
// The figure as an image on the clipboard.
Status copy_figure(Studio& studio, bool dark);

// The same without dialogs, for tests and scripts.
Status write_figure(const Studio& studio, const std::filesystem::path& file, double width_mm, double dpi, bool dark);
Status write_view_data(const Studio& studio, const std::filesystem::path& file);

}  // namespace locus::workbench
