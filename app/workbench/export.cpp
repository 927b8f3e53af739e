#include "app/workbench/export.h"

#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QDialog>
#include <QDialogButtonBox>
#include <QDoubleSpinBox>
#include <QFileDialog>
#include <QFormLayout>
#include <QImage>
#include <QMessageBox>
#include <QPushButton>
#include <nlohmann/json.hpp>

#include "app/session/session.h"
#include "app/views/data_file.h"
#include "renderers/paper/paper.h"

namespace locus::workbench {

namespace {

constexpr double kColumnMm = 84;
constexpr double kPageMm = 174;
constexpr double kScreenDpi = 192;

// Asks for the sizes of a figure; false when cancelled.
bool ask_sizes(QWidget* parent, bool several, double& width_mm, double& dpi, bool& dark) {
  QDialog dialog(parent);
  dialog.setWindowTitle(QStringLiteral("Export figure"));
  auto* form = new QFormLayout(&dialog);
  auto* width = new QDoubleSpinBox(&dialog);
  width->setRange(20, 1000);
  width->setSuffix(QStringLiteral(" mm"));
  width->setValue(several ? kPageMm : kColumnMm);
  width->setToolTip(QStringLiteral("84 mm is a column of a two-column paper, 174 mm its page"));
  auto* resolution = new QDoubleSpinBox(&dialog);
  resolution->setRange(72, 1200);
  resolution->setDecimals(0);
  resolution->setSuffix(QStringLiteral(" dpi"));
  resolution->setValue(300);
  resolution->setToolTip(QStringLiteral("Of PNG; SVG and PDF keep text as text and the map at its own resolution"));
  auto* theme = new QComboBox(&dialog);
  theme->addItems({QStringLiteral("light"), QStringLiteral("dark")});
  form->addRow(QStringLiteral("Width"), width);
  form->addRow(QStringLiteral("Resolution"), resolution);
  form->addRow(QStringLiteral("Theme"), theme);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel, &dialog);
  buttons->button(QDialogButtonBox::Ok)->setText(QStringLiteral("Choose file…"));
  form->addRow(buttons);
  QObject::connect(buttons, &QDialogButtonBox::accepted, &dialog, &QDialog::accept);
  QObject::connect(buttons, &QDialogButtonBox::rejected, &dialog, &QDialog::reject);
  if (dialog.exec() != QDialog::Accepted) {
    return false;
  }
  width_mm = width->value();
  dpi = resolution->value();
  dark = theme->currentIndex() == 1;
  return true;
}

QString suggested_name(const Studio& studio, const QString& ending) {
  const auto columns = studio.columns();
  const std::string base = columns.empty() ? "figure" : columns.front()->name;
  return QString::fromStdString(base + "-" + studio.state().view) + ending;
}

Result<figure::Figure> figure_with_recipe(const Studio& studio) {
  if (!studio.figure()) {
    return usage("there is no figure to export yet");
  }
  figure::Figure figure = *studio.figure();
  figure.recipe = recipe_of(studio);
  return figure;
}

}  // namespace

std::string recipe_of(const Studio& studio) {
  // The session's own form, with absolute paths: a recipe has no folder of its own.
  auto document = nlohmann::json::parse(to_json(studio.session(), "/"));
  document.erase("bookmarks");
  document["version"] = LOCUS_VERSION;
  for (auto& checkpoint : document["checkpoints"]) {
    checkpoint["path"] = "/" + checkpoint["path"].get<std::string>();
  }
  return document.dump();
}

Status write_figure(const Studio& studio, const std::filesystem::path& file, double width_mm, double dpi, bool dark) {
  LOCUS_TRY(const figure::Figure figure, figure_with_recipe(studio));
  paper::PaperOptions options;
  options.width_mm = width_mm;
  options.dpi = dpi;
  options.dark = dark;
  return paper::export_figure(figure, file, options);
}

Status write_view_data(const Studio& studio, const std::filesystem::path& file) {
  const views::ViewInput input = studio.view_input();
  if (input.columns.empty()) {
    return usage("there are no numbers to export yet");
  }
  LOCUS_TRY(const views::Data data, studio.view().data(input));
  return views::write_data(data, recipe_of(studio), file);
}

Status copy_figure(Studio& studio, bool dark) {
  LOCUS_TRY(const figure::Figure figure, figure_with_recipe(studio));
  paper::PaperOptions options;
  options.width_mm = studio.columns().size() > 1 ? kPageMm : kColumnMm;
  options.dpi = kScreenDpi;
  options.dark = dark;
  LOCUS_TRY(const paper::Pixels pixels, paper::render(figure, options));
  const QImage image(pixels.rgba.data(), pixels.width, pixels.height, QImage::Format_RGBA8888);
  QApplication::clipboard()->setImage(image.copy());
  return {};
}

QString export_figure(QWidget* parent, Studio& studio) {
  double width_mm = kColumnMm;
  double dpi = 300;
  bool dark = false;
  if (!ask_sizes(parent, studio.columns().size() > 1, width_mm, dpi, dark)) {
    return {};
  }
  const QString file = QFileDialog::getSaveFileName(parent, QStringLiteral("Export figure"),
                                                    suggested_name(studio, QStringLiteral(".pdf")),
                                                    QStringLiteral("Figures (*.pdf *.svg *.png)"));
  if (file.isEmpty()) {
    return {};
  }
  const Status status = write_figure(studio, file.toStdString(), width_mm, dpi, dark);
  if (!status) {
    QMessageBox::warning(parent, QStringLiteral("Export figure"), QString::fromStdString(status.error().describe()));
    return {};
  }
  return file;
}

QString export_data(QWidget* parent, Studio& studio) {
  const QString file = QFileDialog::getSaveFileName(parent, QStringLiteral("Export data"),
                                                    suggested_name(studio, QStringLiteral(".npy")),
                                                    QStringLiteral("Numbers (*.npy *.csv)"));
  if (file.isEmpty()) {
    return {};
  }
  const Status status = write_view_data(studio, file.toStdString());
  if (!status) {
    QMessageBox::warning(parent, QStringLiteral("Export data"), QString::fromStdString(status.error().describe()));
    return {};
  }
  return file;
}

}  // namespace locus::workbench
