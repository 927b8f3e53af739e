// ExportJob: what is shown, written to files: a copy of everything it needs, so that it runs on the worker while the
// window goes on.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "app/session/recipe.h"
#include "app/views/view.h"
#include "core/base/input_files.h"
#include "core/base/progress.h"
#include "renderers/paper/paper.h"

namespace locus::workbench {

class Studio;

struct ExportJob {
  const views::View* view = nullptr;
  std::vector<views::Column> columns;
  std::vector<std::vector<std::string>> files;  // of each checkpoint's weights, for its digest
  session::Recipe recipe;                       // digests are filled in by the job
  std::filesystem::path file;
  InputFiles inputs;                         // what the window reads: not to be written over
  std::shared_ptr<views::FieldCache> cache;  // the window's: what has been measured for it is not measured again
  bool data = false;                         // numbers (.npy, .csv) instead of a picture
  bool all_layers = false;                   // a file a layer
  bool all_heads = false;                    // a file a head
};

// What the studio shows now. Errors: kUsage when there is nothing yet.
Result<ExportJob> export_job(const Studio& studio, const std::filesystem::path& file);

// Writes it; returns the files. Errors: the view's, kUsage for a file that the window reads, kBadInput for
// one that cannot be written, kCancelled.
Result<std::vector<std::filesystem::path>> run_export(ExportJob job, StopToken stop, const Progress& progress);

// The figure as it would be written, for the clipboard, and its paper.
Result<figure::Figure> exported_figure(const ExportJob& job, const StopToken& stop);
paper::PaperOptions paper_options(const ExportJob& job);

// The digests of the job's checkpoints, in its recipe.
Status fill_digests(ExportJob& job, const StopToken& stop, const Progress& progress);

// What its file may be called, without an ending: "text-rope-attention".
std::string suggested_name(const ExportJob& job);

}  // namespace locus::workbench
