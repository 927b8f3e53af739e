#include "app/workbench/export/export.h"

#include <QFileDialog>
#include <QSettings>

#include "app/figures/render_session.h"
#include "app/workbench/export/export_dialog.h"
#include "app/workbench/widgets/qt_text.h"
#include "renderers/paper/paper.h"

namespace locus::workbench {

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
  const QString file = QFileDialog::getSaveFileName(
      parent, figure ? QStringLiteral("Export figure") : QStringLiteral("Export data"),
      qt(figures::suggested_name(*job) + (figure ? ".pdf" : ".npy")),
      figure ? QStringLiteral("Figures (*.pdf *.svg *.png *.html)") : QStringLiteral("Numbers (*.npy *.csv)"));
  if (!file.isEmpty()) {
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

}  // namespace locus::workbench
