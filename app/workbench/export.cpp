#include "app/workbench/export.h"

#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QDialog>
#include <QDialogButtonBox>
#include <QDoubleSpinBox>
#include <QFileDialog>
#include <QFormLayout>
#include <QImage>
#include <QPushButton>

#include "renderers/paper/paper.h"

namespace locus::workbench {

namespace {

constexpr double kColumnMm = 84;
constexpr double kPageMm = 174;
constexpr double kScreenDpi = 192;

QDoubleSpinBox* number_box(QDialog& dialog, const QString& name, const QString& unit, double low, double high,
                           double value, const QString& help) {
  auto* box = new QDoubleSpinBox(&dialog);
  box->setAccessibleName(name);
  box->setRange(low, high);
  box->setDecimals(0);
  box->setSuffix(unit);
  box->setValue(value);
  box->setToolTip(help);
  return box;
}

// "All layers" and "all heads", where the view has them.
struct Batch {
  QCheckBox* layers = nullptr;
  QCheckBox* heads = nullptr;

  Batch(QDialog& dialog, QFormLayout& form, const views::ViewInfo& info) {
    layers = new QCheckBox(QStringLiteral("every layer"), &dialog);
    heads = new QCheckBox(QStringLiteral("every head"), &dialog);
    layers->setEnabled(info.uses_layer);
    heads->setEnabled(info.uses_head);
    form.addRow(QStringLiteral("Write"), layers);
    form.addRow(QString(), heads);
  }
  void read(ExportJob& job) const {
    job.all_layers = layers->isChecked();
    job.all_heads = heads->isChecked();
  }
};

bool accepted(QDialog& dialog, QFormLayout& form) {
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel, &dialog);
  buttons->button(QDialogButtonBox::Ok)->setText(QStringLiteral("Choose file…"));
  form.addRow(buttons);
  QObject::connect(buttons, &QDialogButtonBox::accepted, &dialog, &QDialog::accept);
  QObject::connect(buttons, &QDialogButtonBox::rejected, &dialog, &QDialog::reject);
  return dialog.exec() == QDialog::Accepted;
}

// Asks for the sizes of a figure; false when cancelled.
bool ask_figure(QWidget* parent, ExportJob& job) {
  QDialog dialog(parent);
  dialog.setObjectName(QStringLiteral("export-figure"));
  dialog.setWindowTitle(QStringLiteral("Export figure"));
  auto* form = new QFormLayout(&dialog);
  auto* width = number_box(dialog, QStringLiteral("Width"), QStringLiteral(" mm"), 20, 1000,
                           job.columns.size() > 1 ? kPageMm : kColumnMm,
                           QStringLiteral("84 mm is a column of a two-column paper, 174 mm its page"));
  auto* resolution =
      number_box(dialog, QStringLiteral("Resolution"), QStringLiteral(" dpi"), 72, 1200, 300,
                 QStringLiteral("Of PNG; SVG and PDF keep text as text and the map at its own resolution"));
  auto* theme = new QComboBox(&dialog);
  theme->setAccessibleName(QStringLiteral("Theme of the figure"));
  theme->addItems({QStringLiteral("light"), QStringLiteral("dark")});
  form->addRow(QStringLiteral("Width"), width);
  form->addRow(QStringLiteral("Resolution"), resolution);
  form->addRow(QStringLiteral("Theme"), theme);
  const Batch batch(dialog, *form, job.view->info());
  if (!accepted(dialog, *form)) {
    return false;
  }
  job.recipe.paper = {width->value(), resolution->value(), theme->currentIndex() == 1};
  batch.read(job);
  return true;
}

bool ask_data(QWidget* parent, ExportJob& job) {
  job.data = true;
  if (!job.view->info().uses_layer && !job.view->info().uses_head) {
    return true;
  }
  QDialog dialog(parent);
  dialog.setObjectName(QStringLiteral("export-data"));
  dialog.setWindowTitle(QStringLiteral("Export data"));
  auto* form = new QFormLayout(&dialog);
  const Batch batch(dialog, *form, job.view->info());
  if (!accepted(dialog, *form)) {
    return false;
  }
  batch.read(job);
  return true;
}

QString suggested_name(const ExportJob& job, const QString& ending) {
  return QString::fromStdString(job.columns.front().name + "-" + job.view->info().name) + ending;
}

}  // namespace

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

void copy_figure(Studio& studio, bool dark, const std::function<void(const Status&)>& done) {
  auto job = export_job(studio, "clipboard.png");
  if (!job) {
    done(job.error());
    return;
  }
  job->recipe.paper = {job->columns.size() > 1 ? kPageMm : kColumnMm, kScreenDpi, dark};
  studio.worker().submit<paper::Pixels>(
      Priority::kExact, "copy", "Copying the figure",
      [job = *std::move(job)](StopToken stop, const Progress& /*progress*/) -> Result<paper::Pixels> {
        LOCUS_TRY(const figure::Figure figure, exported_figure(job, stop));
        paper::PaperOptions options;
        options.width_mm = job.recipe.paper.width_mm;
        options.dpi = job.recipe.paper.dpi;
        options.dark = job.recipe.paper.dark;
        return paper::render(figure, options);
      },
      [done](const Result<paper::Pixels>& pixels) {
        if (!pixels) {
          done(pixels.error());
          return;
        }
        const QImage image(pixels->rgba.data(), pixels->width, pixels->height, QImage::Format_RGBA8888);
        QApplication::clipboard()->setImage(image.copy());
        done({});
      });
}

void export_figure(QWidget* parent, Studio& studio, const Exported& done) {
  auto job = export_job(studio, {});
  if (!job) {
    done(job.error());
    return;
  }
  if (!ask_figure(parent, *job)) {
    return;
  }
  const QString file = QFileDialog::getSaveFileName(parent, QStringLiteral("Export figure"),
                                                    suggested_name(*job, QStringLiteral(".pdf")),
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
  const QString file =
      QFileDialog::getSaveFileName(parent, QStringLiteral("Export data"), suggested_name(*job, QStringLiteral(".npy")),
                                   QStringLiteral("Numbers (*.npy *.csv)"));
  if (!file.isEmpty()) {
    job->file = file.toStdString();
    submit_export(studio, *std::move(job), done);
  }
}

}  // namespace locus::workbench
