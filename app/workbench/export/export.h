// Taking figures and numbers out of the window: exactly what is shown, with its recipe. The work is done by the worker,
// with progress and Cancel in the status bar.
#pragma once

#include <QString>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "app/workbench/export/shown_job.h"
#include "app/workbench/state/studio.h"

class QSettings;
class QWidget;

namespace locus::workbench {

// Called with the result of an export, on the window's thread; never when the user cancelled it.
using Exported = std::function<void(const Result<std::vector<std::filesystem::path>>&)>;
using Copied = std::function<void(const Status&)>;

enum class Contents { kFigure, kNumbers };

// Asks for sizes and a file, then hands what is shown to the worker.
void export_shown(QWidget* parent, Studio& studio, QSettings& settings, Contents contents, const Exported& done);
// Every figure of the session into a folder, as PNG and PDF.
void export_all(Studio& studio, const std::filesystem::path& folder, const Exported& done);

// On the clipboard: the figure as an image and as SVG, of the width that was exported last; the words of the command
// line that draws it; a LaTeX figure with a caption that says what it is and of which recipe.
void copy_figure(Studio& studio, const QSettings& settings, const Copied& done);
void copy_command(Studio& studio, const Copied& done);
void copy_latex(Studio& studio, const QSettings& settings, const Copied& done);

// The words behind "locus" that are copied. Errors: those of command_words(), and kUsage where nothing is shown.
Result<std::vector<std::string>> shown_command(const Studio& studio);

// The text of that.
std::string latex_of(const figures::FigureJob& job);

// Hands a job to the worker, which writes it to that file.
void submit_export(Studio& studio, figures::FigureJob job, const std::filesystem::path& file, Contents contents,
                   const Exported& done);

}  // namespace locus::workbench
