#include "app/workbench/export/shown_job.h"

#include "app/figures/fitting.h"
#include "app/figures/input_paths.h"
#include "app/figures/open_columns.h"
#include "app/workbench/state/studio.h"

namespace locus::workbench {

Result<figures::FigureJob> shown_job(const Studio& studio) {
  figures::FigureJob job;
  views::ViewInput shown = studio.view_input();
  job.view = &studio.view();
  job.columns = std::move(shown.columns);
  job.cache = std::move(shown.cache);
  if (job.columns.empty()) {
    return usage("there is nothing to export yet");
  }
  if (studio.checkpoints().waiting() || studio.checkpoints().behind()) {
    return usage("what is shown is of the input before: export when the present one has run");
  }
  job.recipe.session = studio.sessions().session();
  session::add_inputs(job.recipe.session, job.inputs);
  job.inputs.add(studio.sessions().document().path());
  job.recipe.session.checkpoints.clear();  // what is not shown is no part of the figure
  std::vector<views::Column> whole;        // with all their sides
  for (const Checkpoint* column : studio.checkpoints().shown()) {
    job.recipe.session.checkpoints.push_back(column->entry);
    job.recipe.session.checkpoints.back().own = job.columns[whole.size()].own;
    job.files.push_back(files_of(column->entry, column->model.get()));
    whole.push_back({column->name, column->model, column->trace});
  }
  session::fit_to(whole, *job.view, job.recipe.session);
  return job;
}

}  // namespace locus::workbench
