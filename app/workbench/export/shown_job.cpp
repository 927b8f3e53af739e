#include "app/workbench/export/shown_job.h"

#include <algorithm>

#include "app/figures/input_paths.h"
#include "app/figures/open_columns.h"
#include "app/figures/view_input.h"
#include "app/workbench/state/studio.h"

namespace locus::workbench {

namespace {

// Removes from the state and the input what these columns cannot have: a side or a decoder's input where none is an
// encoder–decoder's; an input where all are traces, which bring theirs; options of other views; partners that do not
// hold. `columns`: the decoder's side of encoder–decoders.
void fit_to(const std::vector<views::Column>& columns, const views::View& view, session::Session& session) {
  session::ViewState& state = session.state;
  models::Input& input = session.input;
  if (!session::any_has_side(columns, state.side)) {
    state.side = models::Side::kDecoder;
  }
  if (!session::any_has_side(columns, models::Side::kEncoder) &&
      !session::any_has_side(columns, models::Side::kCross)) {
    input.decoder_text.reset();
    input.decoder_ids.reset();
  }
  const bool traces = std::none_of(columns.begin(), columns.end(), [](const auto& column) { return column.model; });
  if (traces) {
    input = {};
  }
  if (input.text && input.text->empty()) {
    input.text.reset();
  }
  if (state.partners.empty() || state.partners.front() != views::HeadRef{state.layer, state.head}) {
    state.partners.clear();
  }
  std::erase_if(state.options, [&](const auto& options) { return options.first != view.info().name; });
}

}  // namespace

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
  fit_to(whole, *job.view, job.recipe.session);
  return job;
}

}  // namespace locus::workbench
