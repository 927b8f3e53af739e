#include "app/workbench/export/export_dialog.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDialog>
#include <QDialogButtonBox>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QPushButton>
#include <QSettings>
#include <array>

#include "app/figures/paper_input.h"
#include "app/workbench/export/export_preview.h"
#include "app/workbench/state/studio.h"
#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/qt_text.h"
#include "renderers/paper/paper.h"

namespace locus::workbench {

namespace {

struct Journal {
  const char* name;
  double width_mm;
};
constexpr std::array kJournals = {
    Journal{"a column (84 mm)", 84},   Journal{"a page (174 mm)", 174}, Journal{"NeurIPS, ICLR, TMLR text", 139.7},
    Journal{"ICML column", 82.6},      Journal{"ICML page", 171.4},     Journal{"ACL column", 77},
    Journal{"ACL page", 160},          Journal{"IEEE column", 88.9},    Journal{"IEEE page", 181},
    Journal{"ACM column", 84.7},       Journal{"ACM page", 177.8},      Journal{"Nature column", 89},
    Journal{"Nature page", 183},       Journal{"Elsevier column", 90},  Journal{"Elsevier page", 190},
    Journal{"Springer LNCS text", 122}};
constexpr double kMillimetresPerInch = 25.4;

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
  void read(figures::FigureJob& job) const {
    session::ViewState& state = job.recipe.session.state;
    state.layer = layers->isChecked() ? views::kAll : state.layer;
    state.head = heads->isChecked() ? views::kAll : state.head;
  }
};

bool accepted(QDialog& dialog, QFormLayout& form) {
  QDialogButtonBox* buttons = make_answer_box(&dialog);
  buttons->button(QDialogButtonBox::Ok)->setText(QStringLiteral("Choose file…"));
  form.addRow(buttons);
  return dialog.exec() == QDialog::Accepted;
}

// The controls of a figure's paper, and what they say.
class PaperForm {
 public:
  PaperForm(QDialog& dialog, QFormLayout& form, const session::PaperState& now) {
    journal_ = make_named<QComboBox>(&dialog, "journal", QStringLiteral("Width of a journal"));
    journal_->addItem(QStringLiteral("own width"), 0.0);
    for (const Journal& each : kJournals) {
      journal_->addItem(QString::fromLatin1(each.name), each.width_mm);
    }
    width_ = number(dialog, "width", QStringLiteral("Width"), QStringLiteral(" mm"), 20, 1000, now.width_mm, 1);
    text_ = number(dialog, "text-pt", QStringLiteral("Type"), QStringLiteral(" pt"), 4, 48, now.text_pt, 1);
    dpi_ = number(dialog, "dpi", QStringLiteral("Resolution"), QStringLiteral(" dpi"), 72, 1200, now.dpi, 0);
    dpi_->setToolTip(QStringLiteral("Of PNG; SVG and PDF keep text as text and the map at its own resolution"));
    theme_ = new QComboBox(&dialog);
    theme_->setAccessibleName(QStringLiteral("Theme of the figure"));
    theme_->addItems({QStringLiteral("light"), QStringLiteral("dark")});
    theme_->setCurrentIndex(now.dark ? 1 : 0);
    form.addRow(QStringLiteral("Journal"), journal_);
    form.addRow(QStringLiteral("Width"), width_);
    form.addRow(QStringLiteral("Type"), text_);
    form.addRow(QStringLiteral("Resolution"), dpi_);
    form.addRow(QStringLiteral("Theme"), theme_);
    titles_ = part(dialog, form, "titles", QStringLiteral("titles"), now.titles);
    labels_ = part(dialog, form, "labels", QStringLiteral("labels of axes"), now.labels);
    legend_ = part(dialog, form, "legend", QStringLiteral("legend and colour bar"), now.legend);
    follow_width();
    QObject::connect(journal_, &QComboBox::activated, &dialog, [this] {
      if (const double width = journal_->currentData().toDouble(); width > 0) {
        width_->setValue(width);
      }
    });
    QObject::connect(width_, &QDoubleSpinBox::valueChanged, &dialog, [this] { follow_width(); });
  }

  // Where there are marks, they can be part of the figure.
  void offer_marks(QDialog& dialog, QFormLayout& form, bool any, bool on) {
    marks_ = part(dialog, form, "marks", QStringLiteral("with marks"), any && on);
    marks_->setToolTip(QStringLiteral("Profiles that were kept, as curves below the maps, and measures"));
    marks_->setEnabled(any);
  }

  session::PaperState read() const {
    session::PaperState paper;
    paper.width_mm = width_->value();
    paper.dpi = dpi_->value();
    paper.dark = theme_->currentIndex() == 1;
    paper.text_pt = text_->value();
    paper.titles = titles_->isChecked();
    paper.labels = labels_->isChecked();
    paper.legend = legend_->isChecked();
    paper.marks = marks_->isChecked();
    return paper;
  }

  void on_change(QDialog& dialog, const std::function<void()>& run) const {
    for (QDoubleSpinBox* box : {width_, text_}) {
      QObject::connect(box, &QDoubleSpinBox::valueChanged, &dialog, run);
    }
    for (QCheckBox* box : {titles_, labels_, legend_, marks_}) {
      QObject::connect(box, &QCheckBox::toggled, &dialog, run);
    }
    QObject::connect(theme_, &QComboBox::currentIndexChanged, &dialog, run);
  }

 private:
  static QDoubleSpinBox* number(QDialog& dialog, const char* name, const QString& label, const QString& unit,
                                double low, double high, double value, int decimals) {
    auto* box = make_spin_box<QDoubleSpinBox>(&dialog, name, label, low, high, value);
    box->setDecimals(decimals);
    box->setSuffix(unit);
    return box;
  }
  static QCheckBox* part(QDialog& dialog, QFormLayout& form, const char* name, const QString& label, bool on) {
    auto* box = new QCheckBox(label, &dialog);
    box->setObjectName(QLatin1String(name));
    box->setChecked(on);
    form.addRow(box);
    return box;
  }
  // The journal whose width it is.
  void follow_width() {
    const int known = journal_->findData(width_->value());
    journal_->setCurrentIndex(std::max(0, known));
  }

  QComboBox* journal_ = nullptr;
  QDoubleSpinBox* width_ = nullptr;
  QDoubleSpinBox* text_ = nullptr;
  QDoubleSpinBox* dpi_ = nullptr;
  QComboBox* theme_ = nullptr;
  QCheckBox* titles_ = nullptr;
  QCheckBox* labels_ = nullptr;
  QCheckBox* legend_ = nullptr;
  QCheckBox* marks_ = nullptr;
};

}  // namespace

session::PaperState kept_paper(const QSettings& settings) {
  session::PaperState paper;
  paper.width_mm = settings.value(QStringLiteral("paper/width-mm"), paper.width_mm).toDouble();
  paper.dpi = settings.value(QStringLiteral("paper/dpi"), paper.dpi).toDouble();
  paper.dark = settings.value(QStringLiteral("paper/dark"), paper.dark).toBool();
  paper.text_pt = settings.value(QStringLiteral("paper/text-pt"), paper.text_pt).toDouble();
  paper.marks = settings.value(QStringLiteral("paper/marks"), paper.marks).toBool();
  static_cast<void>(
      session::leave_out(settings.value(QStringLiteral("paper/without")).toString().toStdString(), paper).ok());
  return paper;
}

void keep_paper(QSettings& settings, const session::PaperState& paper) {
  settings.setValue(QStringLiteral("paper/width-mm"), paper.width_mm);
  settings.setValue(QStringLiteral("paper/dpi"), paper.dpi);
  settings.setValue(QStringLiteral("paper/dark"), paper.dark);
  settings.setValue(QStringLiteral("paper/text-pt"), paper.text_pt);
  settings.setValue(QStringLiteral("paper/marks"), paper.marks);
  settings.setValue(QStringLiteral("paper/without"), qt(session::parts_left_out(paper)));
}

bool ask_figure(QWidget* parent, Studio& studio, QSettings& settings, figures::FigureJob& job) {
  QDialog dialog(parent);
  dialog.setObjectName(QStringLiteral("export-figure-dialog"));
  dialog.setWindowTitle(QStringLiteral("Export figure"));
  auto* row = new QHBoxLayout(&dialog);
  auto* form = new QFormLayout;
  row->addLayout(form);
  session::PaperState now = kept_paper(settings);
  now.width_mm = session::paper_width_mm(now, job.columns.size());
  PaperForm paper(dialog, *form, now);
  paper.offer_marks(dialog, *form, !job.recipe.session.state.marks.empty(), now.marks);
  const Batch batch(dialog, *form, job.view->info());
  auto* preview = new ExportPreview(studio, &dialog);
  row->addWidget(preview, 1);
  const auto draw = [preview, &job, &paper] { preview->show_figure(job, paper.read()); };
  paper.on_change(dialog, draw);
  draw();
  const bool wanted = accepted(dialog, *form);
  preview->stop();
  if (wanted) {
    job.recipe.paper = paper.read();
    keep_paper(settings, job.recipe.paper);
    batch.read(job);
  }
  return wanted;
}

bool ask_data(QWidget* parent, figures::FigureJob& job) {
  if (!job.view->info().uses_layer && !job.view->info().uses_head) {
    return true;
  }
  QDialog dialog(parent);
  dialog.setObjectName(QStringLiteral("export-data-dialog"));
  dialog.setWindowTitle(QStringLiteral("Export data"));
  auto* form = new QFormLayout(&dialog);
  const Batch batch(dialog, *form, job.view->info());
  if (!accepted(dialog, *form)) {
    return false;
  }
  batch.read(job);
  return true;
}

}  // namespace locus::workbench
