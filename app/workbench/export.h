// Taking figures and numbers out of the window: exactly what is shown, with its recipe. The work is done by the worker,
// with progress and Cancel in the status bar.
#pragma once

#include <QString>
#include <filesystem>
#include <functional>
#include <vector>

#include "app/workbench/export_job.h"
#include "app/workbench/studio.h"

class QWidget;

namespace locus::workbench {

// What became of an export, on the window's thread; never called when the user thought better of it.
using Exported = std::function<void(const Result<std::vector<std::filesystem::path>>&)>;

// Each asks for sizes and a file, then hands the job to the worker.
void export_figure(QWidget* parent, Studio& studio, const Exported& done);
void export_data(QWidget* parent, Studio& studio, const Exported& done);

// The figure as an image on the clipboard.
void copy_figure(Studio& studio, bool dark, const std::function<void(const Status&)>& done);

// Hands a job to the worker.
void submit_export(Studio& studio, ExportJob job, const Exported& done);

}  // namespace locus::workbench
