// Copies of what is shown to the clipboard.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/figures/figure_job.h"
#include "app/workbench/state/studio.h"

class QSettings;

namespace locus::workbench {

// Receives success or the error, on the window's thread; not called after a cancellation.
using Copied = std::function<void(const Status&)>;

// Copies the figure as an image and as SVG, in the width of the last export.
void copy_figure(Studio& studio, const QSettings& settings, const Copied& done);
// Copies the command line that draws the figure.
void copy_command(Studio& studio, const Copied& done);
// Copies the command line that draws the map of one head in one of the shown columns.
void copy_head_command(Studio& studio, std::size_t column, const views::HeadRef& head, const Copied& done);
// Copies a LaTeX figure whose caption describes it and its recipe.
void copy_latex(Studio& studio, const QSettings& settings, const Copied& done);

// The words after "locus" of the copied command line. Errors: those of command_words(), and kUsage if nothing is shown.
Result<std::vector<std::string>> shown_command(const Studio& studio);
// The same of one head's map. Errors: as above.
Result<std::vector<std::string>> head_command(const Studio& studio, std::size_t column, const views::HeadRef& head);
// The LaTeX text of a job.
std::string latex_of(const figures::FigureJob& job, const std::string& finding = {});

}  // namespace locus::workbench
