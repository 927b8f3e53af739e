// Exports of the shown figure and its data, with the recipe. The worker does the work, with progress and Cancel in the
// status bar.
#pragma once

#include <QString>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "app/figures/figure_job.h"
#include "app/workbench/state/studio.h"

class QSettings;
class QWidget;

namespace locus::workbench {

// Receives the written files or the error, on the window's thread; not called after a cancellation.
using Exported = std::function<void(const Result<std::vector<std::filesystem::path>>&)>;

enum class Contents { kFigure, kNumbers };

// Asks for sizes and a file, then exports what is shown.
void export_shown(QWidget* parent, Studio& studio, QSettings& settings, Contents contents, const Exported& done);
// A file of that name in the folder and format of the one that was written last; without one, in the usual format.
QString file_like(const QString& last, const QString& name, const QString& usual);
// Exports every figure of the session into a folder, as PNG and PDF.
void export_all(Studio& studio, const std::filesystem::path& folder, const Exported& done);

// Writes a job to a file, on the worker.
void submit_export(Studio& studio, figures::FigureJob job, const std::filesystem::path& file, Contents contents,
                   const Exported& done);

// A job of what the studio shows, independent of later changes. Errors: kUsage if there is nothing yet, or
// what is shown is of a previous input.
Result<figures::FigureJob> shown_job(const Studio& studio);

}  // namespace locus::workbench
