#include "app/figures/export_job.h"

#include <algorithm>

#include "app/session/fitting.h"
#include "app/session/input_paths.h"
#include "app/session/open_columns.h"
#include "app/session/paper_input.h"
#include "app/views/plots/data_file.h"
#include "app/workbench/studio/studio.h"

namespace locus::workbench {

namespace {

views::ViewInput input_of(const ExportJob& job, const StopToken& stop) {
  views::ViewInput input = session::paper_input(job.recipe, job.columns, *job.view, job.file);
  input.cache = job.cache;
  input.stop = stop;
  return input;
}

Status write_one(const ExportJob& job, const std::filesystem::path& file, const StopToken& stop) {
  LOCUS_TRY(const figure::Figure figure, exported_figure(job, stop));
  if (stop.stop_requested()) {
    return cancelled();
  }
  return paper::export_figure(figure, file, paper_options(job));
}

}  // namespace

Status fill_digests(ExportJob& job, const StopToken& stop, const Progress& progress) {
  job.recipe.digests.assign(job.files.size(), "");
  for (std::size_t n = 0; n < job.files.size(); ++n) {
    report(progress, -1, "reading checkpoint " + std::to_string(n + 1) + " of " + std::to_string(job.files.size()));
    if (stop.stop_requested()) {
      return cancelled();
    }
    LOCUS_TRY(job.recipe.digests[n], session::checkpoint_digest(job.files[n]));
  }
  return {};
}

std::string suggested_name(const ExportJob& job) {
  std::string name = job.columns.front().name + "-" + job.view->info().name;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return c <= ' ' || c == '/' || c == ':' || c >= 0x80; }, '-');
  return name;
}

paper::PaperOptions paper_options(const ExportJob& job) {
  paper::PaperOptions options;
  options.width_mm = session::paper_width_mm(job.recipe.paper, job.columns.size());
  options.dpi = job.recipe.paper.dpi;
  options.dark = job.recipe.paper.dark;
  options.text_pt = job.recipe.paper.text_pt;
  return options;
}

Result<ExportJob> export_job(const Studio& studio, const std::filesystem::path& file) {
  ExportJob job;
  views::ViewInput shown = studio.view_input();
  job.view = &studio.view();
  job.columns = std::move(shown.columns);
  job.cache = std::move(shown.cache);
  if (job.columns.empty()) {
    return usage("there is nothing to export yet");
  }
  if (studio.waiting() || studio.behind()) {
    return usage("what is shown is of the input before: export when the present one has run");
  }
  job.recipe.session = studio.session();
  session::add_inputs(job.recipe.session, job.inputs);
  job.inputs.add(studio.document().path());
  job.recipe.session.checkpoints.clear();  // what is not shown is no part of the figure
  std::vector<views::Column> whole;        // with all their sides
  for (const Checkpoint* column : studio.columns()) {
    job.recipe.session.checkpoints.push_back(column->entry);
    job.recipe.session.checkpoints.back().own = job.columns[whole.size()].own;
    job.files.push_back(files_of(column->entry, column->model.get()));
    whole.push_back({column->name, column->model, column->trace});
  }
  session::fit_to(whole, *job.view, job.recipe.session);
  job.file = file;
  return job;
}

Result<figure::Figure> exported_figure(const ExportJob& job, const StopToken& stop) {
  LOCUS_TRY(figure::Figure figure, job.view->figure(input_of(job, stop)));
  figure = session::on_paper(std::move(figure), job.recipe.paper);
  figure.recipe = to_json(job.recipe);
  return figure;
}

Result<std::vector<std::filesystem::path>> run_export(ExportJob job, StopToken stop, const Progress& progress) {
  LOCUS_CHECK(job.inputs.check(job.file, "export"));
  LOCUS_CHECK(fill_digests(job, stop, progress));
  session::ViewState& state = job.recipe.session.state;
  const models::ModelInfo& model = job.columns.front().trace->model();
  if (job.data) {
    state.layer = job.all_layers ? views::kAll : state.layer;
    state.head = job.all_heads ? views::kAll : state.head;
    report(progress, -1, job.file.filename().string());
    views::ViewInput input = input_of(job, stop);
    input.progress = progress;
    LOCUS_CHECK(job.inputs.check(job.file.string() + ".recipe.json", "export"));
    LOCUS_TRY(const views::DataParts parts, job.view->data_parts(input));
    LOCUS_CHECK(views::write_data(parts, to_json(job.recipe), job.file, stop, progress));
    return std::vector<std::filesystem::path>{job.file};
  }
  const bool many = job.all_layers || job.all_heads;
  const Range layers = job.all_layers ? Range{0, model.layers} : Range{state.layer, state.layer + 1};
  const Range heads = job.all_heads ? Range{0, model.heads} : Range{state.head, state.head + 1};
  std::vector<std::filesystem::path> written;
  for (state.layer = layers.begin; state.layer < layers.end; ++state.layer) {
    for (state.head = heads.begin; state.head < heads.end; ++state.head) {
      const auto file = many ? session::numbered(job.file, state.layer, state.head) : job.file;
      report(progress, static_cast<double>(written.size()) / static_cast<double>(layers.size() * heads.size()),
             file.filename().string());
      LOCUS_CHECK(job.inputs.check(file, "export"));
      LOCUS_CHECK(write_one(job, file, stop));
      written.push_back(file);
    }
  }
  return written;
}

}  // namespace locus::workbench
