#include "app/workbench/export/export.h"

#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QSettings>
#include <algorithm>

#include "app/figures/input_paths.h"
#include "app/figures/open_columns.h"
#include "app/figures/render_session.h"
#include "app/figures/view_input.h"
#include "app/workbench/export/export_dialog.h"
#include "app/workbench/widgets/qt_text.h"
#include "renderers/paper/paper.h"

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

using Files = std::vector<std::filesystem::path>;

void submit_export(Studio& studio, figures::FigureJob job, const std::filesystem::path& file, Contents contents,
                   const Exported& done) {
  const std::string what = "Writing " + file.filename().string();
  studio.worker().submit<Files>(
      Priority::kExact, "export", what,
      [job = std::move(job), file, contents](const StopToken& stop, const Progress& progress) mutable -> Result<Files> {
        LOCUS_CHECK(job.inputs.check(file, job.output));
        LOCUS_CHECK(figures::fill_digests(job, stop, progress));
        if (contents == Contents::kNumbers) {
          LOCUS_CHECK(figures::write_data(job, file, stop, progress));
          return Files{file};
        }
        Files files;
        const auto written = [&](const std::filesystem::path& each) { files.push_back(each); };
        LOCUS_CHECK(figures::write_figures(job, file, paper::export_figure, written, stop, progress));
        return files;
      },
      [done](const Result<Files>& files) { done(files); });
}

QString file_like(const QString& last, const QString& name, const QString& usual) {
  const QFileInfo before(last);
  const QString ending = before.suffix().isEmpty() ? usual : before.suffix();
  const bool there = !last.isEmpty() && before.dir().exists();
  return (there ? before.path() + QLatin1Char('/') : QString()) + name + QLatin1Char('.') + ending;
}

void export_shown(QWidget* parent, Studio& studio, QSettings& settings, Contents contents, const Exported& done) {
  auto job = shown_job(studio);
  if (!job) {
    done(job.error());
    return;
  }
  const bool figure = contents == Contents::kFigure;
  if (!(figure ? ask_figure(parent, studio, settings, *job) : ask_data(parent, *job))) {
    return;
  }
  const QString key = figure ? QStringLiteral("export/figure") : QStringLiteral("export/data");
  const QString file = QFileDialog::getSaveFileName(
      parent, figure ? QStringLiteral("Export figure") : QStringLiteral("Export data"),
      file_like(settings.value(key).toString(), qt(figures::suggested_name(*job)),
                figure ? QStringLiteral("pdf") : QStringLiteral("npy")),
      figure ? QStringLiteral("Figures (*.pdf *.svg *.png *.html)") : QStringLiteral("Numbers (*.npy *.csv)"));
  if (!file.isEmpty()) {
    settings.setValue(key, file);
    submit_export(studio, *std::move(job), file.toStdString(), contents, done);
  }
}

void export_all(Studio& studio, const std::filesystem::path& folder, const Exported& done) {
  studio.worker().submit<Files>(
      Priority::kExact, "export", "Writing the figures of the session",
      [session = studio.sessions().session(), folder](const StopToken& stop,
                                                      const Progress& progress) -> Result<Files> {
        LOCUS_TRY(const figures::RenderedSession rendered,
                  figures::render_session(session, folder, paper::export_figure, stop, progress));
        if (rendered.stopped) {
          return cancelled();
        }
        if (!rendered.warnings.empty()) {
          return bad_input(rendered.warnings.front() + "; " + std::to_string(rendered.files.size()) + " files written");
        }
        return rendered.files;
      },
      [done](const Result<Files>& files) { done(files); });
}

Result<figures::FigureJob> shown_job(const Studio& studio) {
  figures::FigureJob job;
  views::ViewInput shown = studio.view_input();
  job.view = &studio.view();
  job.columns = std::move(shown.columns);
  job.cache = std::move(shown.cache);
  if (job.columns.empty()) {
    return usage("there is no figure to export yet");
  }
  if (studio.checkpoints().waiting() || studio.checkpoints().behind()) {
    return usage("the figure is of the previous input: export once the present one has run");
  }
  job.recipe.session = studio.sessions().session();
  session::add_inputs(job.recipe.session, job.inputs);
  job.inputs.add(studio.sessions().document().path());
  job.recipe.session.checkpoints.clear();  // hidden checkpoints are not part of the figure
  std::vector<views::Column> whole;        // columns with all their sides
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
