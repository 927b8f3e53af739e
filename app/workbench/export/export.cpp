#include "app/workbench/export/export.h"

#include <QFileDialog>
#include <QSettings>

#include "app/workbench/export/export_dialog.h"
#include "app/workbench/window/workbench.h"

namespace locus::workbench {

void submit_export(Studio& studio, ExportJob job, const Exported& done) {
  using Files = std::vector<std::filesystem::path>;
  const std::string what = "Writing " + job.file.filename().string();
  studio.worker().submit<Files>(
      Priority::kExact, "export", what,
      [job = std::move(job)](StopToken stop, const Progress& progress) -> Result<Files> {
        return run_export(job, std::move(stop), progress);
      },
      [done](const Result<Files>& files) { done(files); });
}

void export_figure(QWidget* parent, Studio& studio, QSettings& settings, const Exported& done) {
  auto job = export_job(studio, {});
  if (!job) {
    done(job.error());
    return;
  }
  if (!ask_figure(parent, studio, settings, *job)) {
    return;
  }
  const QString file = QFileDialog::getSaveFileName(parent, QStringLiteral("Export figure"),
                                                    QString::fromStdString(suggested_name(*job) + ".pdf"),
                                                    QStringLiteral("Figures (*.pdf *.svg *.png)"));
  if (!file.isEmpty()) {
    job->file = file.toStdString();
    submit_export(studio, *std::move(job), done);
  }
}

void export_data(QWidget* parent, Studio& studio, const Exported& done) {
  auto job = export_job(studio, {});
  if (!job) {
    done(job.error());
    return;
  }
  if (!ask_data(parent, *job)) {
    return;
  }
  const QString file = QFileDialog::getSaveFileName(parent, QStringLiteral("Export data"),
                                                    QString::fromStdString(suggested_name(*job) + ".npy"),
                                                    QStringLiteral("Numbers (*.npy *.csv)"));
  if (!file.isEmpty()) {
    job->file = file.toStdString();
    submit_export(studio, *std::move(job), done);
  }
}

void export_all(Studio& studio, const std::filesystem::path& folder, const Exported& done) {
  using Files = std::vector<std::filesystem::path>;
  studio.worker().submit<Files>(
      Priority::kExact, "export", "Writing the figures of the session",
      [session = studio.session(), folder](const StopToken& stop, const Progress& progress) -> Result<Files> {
        LOCUS_TRY(const RenderedSession rendered, render_session(session, folder, stop, progress));
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
