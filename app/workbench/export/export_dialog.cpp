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
#include <algorithm>
#include <array>
#include <vector>

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

// "width-mm": a field's widget and its place in the settings.
std::string name_of(const session::PaperField& field) {
  std::string name = field.parameter.name;
  std::ranges::replace(name, '_', '-');
  return name;
}
QString key_of(const session::PaperField& field) {
  return QStringLiteral("paper/") + qt(name_of(field));
}

bool accepted(QDialog& dialog, QFormLayout& form) {
  QDialogButtonBox* buttons = make_answer_box(&dialog);
  buttons->button(QDialogButtonBox::Ok)->setText(QStringLiteral("Choose file…"));
  form.addRow(buttons);
  return dialog.exec() == QDialog::Accepted;
}

// Widgets of the fields of paper, made from their schema; each has its field's name in settings as object name.
class PaperForm {
 public:
  PaperForm(QDialog& dialog, QFormLayout& form, const session::PaperState& now, bool any_marks) {
    auto* journal = make_named<QComboBox>(&dialog, "journal", QStringLiteral("Width of a journal"));
    journal->addItem(QStringLiteral("own width"), 0.0);
    for (const Journal& each : kJournals) {
      journal->addItem(QString::fromLatin1(each.name), each.width_mm);
    }
    form.addRow(QStringLiteral("Journal"), journal);
    for (const session::PaperField& field : session::paper_fields()) {
      add(dialog, form, field, now);
    }
    auto* marks = dialog.findChild<QCheckBox*>(QStringLiteral("marks"));
    marks->setEnabled(any_marks);
    marks->setChecked(any_marks && now.marks);
    auto* width = dialog.findChild<QDoubleSpinBox*>(QStringLiteral("width-mm"));
    const auto follow = [journal, width] { journal->setCurrentIndex(std::max(0, journal->findData(width->value()))); };
    follow();
    QObject::connect(journal, &QComboBox::activated, &dialog, [journal, width] {
      if (const double chosen = journal->currentData().toDouble(); chosen > 0) {
        width->setValue(chosen);
      }
    });
    QObject::connect(width, &QDoubleSpinBox::valueChanged, &dialog, follow);
  }

  session::PaperState read() const {
    session::PaperState paper;
    for (const Row& row : rows_) {
      row.field->put(paper, value_of(row));
    }
    for (std::size_t n = 0; n < parts_.size(); ++n) {
      paper.*session::paper_parts()[n].shown = parts_[n]->isChecked();
    }
    return paper;
  }

  // Calls `run` after every change that the preview shows.
  void on_change(QDialog& dialog, const std::function<void()>& run) const {
    for (const Row& row : rows_) {
      if (auto* box = qobject_cast<QDoubleSpinBox*>(row.widget)) {
        QObject::connect(box, &QDoubleSpinBox::valueChanged, &dialog, run);
      } else if (auto* list = qobject_cast<QComboBox*>(row.widget)) {
        QObject::connect(list, &QComboBox::currentIndexChanged, &dialog, run);
      } else if (auto* check = qobject_cast<QCheckBox*>(row.widget)) {
        QObject::connect(check, &QCheckBox::toggled, &dialog, run);
      }
    }
    for (QCheckBox* part : parts_) {
      QObject::connect(part, &QCheckBox::toggled, &dialog, run);
    }
  }

 private:
  struct Row {
    const session::PaperField* field;
    QWidget* widget;
  };

  // The field "without" is the check boxes of its parts.
  void add(QDialog& dialog, QFormLayout& form, const session::PaperField& field, const session::PaperState& now) {
    const Parameter& parameter = field.parameter;
    const QString label = qt(parameter.label);
    const std::string name = name_of(field);
    QWidget* widget = nullptr;
    if (parameter.kind == Parameter::Kind::kNumber) {
      const auto value = field.get(now);
      const auto usual = std::get_if<double>(&parameter.fallback);
      auto* box = make_spin_box<QDoubleSpinBox>(&dialog, name.c_str(), label, parameter.low, parameter.high,
                                                value              ? std::get<double>(*value)
                                                : usual == nullptr ? 0
                                                                   : *usual);
      box->setDecimals(field.decimals);
      box->setSuffix(QStringLiteral(" ") + qt(field.unit));
      widget = box;
    } else if (parameter.kind == Parameter::Kind::kToggle && !parameter.choices.empty()) {
      auto* list = make_named<QComboBox>(&dialog, name.c_str(), qt(parameter.help));
      for (const std::string& word : parameter.choices) {
        list->addItem(qt(word));
      }
      list->setCurrentText(qt(typed_text(field, now)));
      widget = list;
    } else if (parameter.kind == Parameter::Kind::kToggle) {
      widget = check_box(dialog, name.c_str(), label, false);
    } else {
      for (const session::PaperPart& part : session::paper_parts()) {
        parts_.push_back(check_box(dialog, part.name, QString::fromLatin1(part.label), now.*part.shown));
        form.addRow(parts_.back());
      }
      return;
    }
    widget->setToolTip(qt(parameter.help));
    if (qobject_cast<QCheckBox*>(widget) != nullptr) {
      form.addRow(widget);
    } else {
      form.addRow(label, widget);
    }
    rows_.push_back({&field, widget});
  }

  static SettingValue value_of(const Row& row) {
    if (const auto* box = qobject_cast<QDoubleSpinBox*>(row.widget)) {
      return box->value();
    }
    const auto* check = qobject_cast<QCheckBox*>(row.widget);
    return check != nullptr ? check->isChecked() : qobject_cast<QComboBox*>(row.widget)->currentIndex() == 1;
  }
  static QCheckBox* check_box(QDialog& dialog, const char* name, const QString& label, bool on) {
    auto* box = new QCheckBox(label, &dialog);
    box->setObjectName(QLatin1String(name));
    box->setChecked(on);
    return box;
  }

  std::vector<Row> rows_;
  std::vector<QCheckBox*> parts_;
};

}  // namespace

session::PaperState kept_paper(const QSettings& settings) {
  session::PaperState paper;
  for (const session::PaperField& field : session::paper_fields()) {
    const QVariant kept = settings.value(key_of(field));
    if (!kept.isValid()) {
      continue;
    }
    const SettingValue value = field.parameter.kind == Parameter::Kind::kToggle ? SettingValue(kept.toBool())
                               : field.parameter.kind == Parameter::Kind::kNumber
                                   ? SettingValue(kept.toDouble())
                                   : SettingValue(kept.toString().toStdString());
    static_cast<void>(put_field(field, paper, value, {}).ok());  // the default where what was kept is out of bounds now
  }
  return paper;
}

void keep_paper(QSettings& settings, const session::PaperState& paper) {
  for (const session::PaperField& field : session::paper_fields()) {
    const auto value = field.get(paper);
    if (!value) {
      settings.remove(key_of(field));  // the default
    } else if (const auto* text = std::get_if<std::string>(&*value)) {
      settings.setValue(key_of(field), qt(*text));
    } else if (const auto* on = std::get_if<bool>(&*value)) {
      settings.setValue(key_of(field), *on);
    } else {
      settings.setValue(key_of(field), std::get<double>(*value));
    }
  }
}

bool ask_figure(QWidget* parent, Studio& studio, QSettings& settings, figures::FigureJob& job) {
  QDialog dialog(parent);
  dialog.setObjectName(QStringLiteral("export-figure-dialog"));
  dialog.setWindowTitle(QStringLiteral("Export figure"));
  auto* row = new QHBoxLayout(&dialog);
  auto* form = new QFormLayout;
  row->addLayout(form);
  session::PaperState now = kept_paper(settings);
  now.width_mm = figures::paper_width_mm(now, job.columns.size());
  const PaperForm paper(dialog, *form, now, !job.recipe.session.state.marks.empty());
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
