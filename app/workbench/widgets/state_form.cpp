#include "app/workbench/widgets/state_form.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>

#include "app/workbench/widgets/qt_text.h"
#include "core/base/numbers.h"

namespace locus::workbench {

namespace {

using Kind = Parameter::Kind;

constexpr int kShortestWord = 6;  // of a list that has little room, in letters

// Entries of a combo box: values and their labels.
std::vector<std::pair<std::string, std::string>> offered(const Parameter& parameter) {
  std::vector<std::pair<std::string, std::string>> list;
  if (parameter.kind == Kind::kChoice && parameter.fallback == SettingValue(std::string())) {
    list.emplace_back("", parameter.lowest);
  }
  for (const std::string& choice : parameter.choices) {
    list.emplace_back(choice, choice);
  }
  for (const auto& [word, value] : parameter.words) {
    list.emplace_back(word, word);
  }
  return list;
}

// The value of a widget as text.
std::string typed(const QWidget* widget) {
  if (const auto* check = qobject_cast<const QCheckBox*>(widget)) {
    return check->isChecked() ? "true" : "false";
  }
  if (const auto* combo = qobject_cast<const QComboBox*>(widget)) {
    return combo->currentData().toString().toStdString();
  }
  if (const auto* spin = qobject_cast<const QDoubleSpinBox*>(widget)) {
    return number_text(spin->value());
  }
  return qobject_cast<const QLineEdit*>(widget)->text().toStdString();
}

void show_value(QWidget* widget, const std::string& text) {
  if (auto* combo = qobject_cast<QComboBox*>(widget)) {
    if (combo->findData(qt(text)) < 0) {
      combo->addItem(qt(text), qt(text));  // a value of a file that has no word
    }
    combo->setCurrentIndex(combo->findData(qt(text)));
  } else if (auto* spin = qobject_cast<QDoubleSpinBox*>(widget)) {
    spin->setValue(parse_number<double>(text).value_or(spin->value()));
  } else if (auto* line = qobject_cast<QLineEdit*>(widget)) {
    line->setText(qt(text));
  }
}

}  // namespace

StateForm::StateForm(const session::StateFields& fields, session::StateField::Place place, QWidget* parent)
    : QWidget(parent) {
  auto* form = new QFormLayout(this);
  form->setContentsMargins(4, 4, 4, 4);
  for (const session::StateField& field : fields) {
    if (field.place == place) {
      add(*form, field);
    }
  }
}

void StateForm::add(QFormLayout& form, const session::StateField& field) {
  const Parameter& parameter = field.parameter;
  QWidget* const widget = make(field, rows_.size());
  widget->setObjectName(qt(parameter.name));
  widget->setAccessibleName(qt(parameter.label));
  widget->setToolTip(qt(parameter.help));
  QLabel* label = nullptr;
  if (parameter.kind == Kind::kToggle) {
    form.addRow(widget);
  } else {
    label = new QLabel(qt(parameter.label), this);
    form.addRow(label, widget);
  }
  rows_.push_back({&field, widget, label, {}});
}

QWidget* StateForm::make(const session::StateField& field, std::size_t row) {
  const Parameter& parameter = field.parameter;
  if (parameter.kind == Kind::kToggle) {
    auto* check = new QCheckBox(qt(parameter.label), this);
    connect(check, &QCheckBox::toggled, this, [this, row] { edit(row); });
    return check;
  }
  if (const auto list = offered(parameter); !list.empty()) {
    auto* combo = new QComboBox(this);
    combo->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);  // the panel may be narrow
    combo->setMinimumContentsLength(kShortestWord);
    for (const auto& [word, name] : list) {
      combo->addItem(qt(name), qt(word));
    }
    connect(combo, &QComboBox::activated, this, [this, row] { edit(row); });
    return combo;
  }
  const bool left_empty = !field.get(session::ViewState{}).has_value();
  if (parameter.kind == Kind::kNumber && !left_empty) {
    auto* spin = new QDoubleSpinBox(this);
    const bool fine = parameter.high - parameter.low <= 10;
    spin->setRange(parameter.low, parameter.high);
    spin->setDecimals(fine ? 2 : 1);
    spin->setSingleStep(fine ? 0.05 : 1);
    connect(spin, &QDoubleSpinBox::valueChanged, this, [this, row] { edit(row); });
    return spin;
  }
  auto* line = new QLineEdit(this);
  line->setPlaceholderText(left_empty ? QStringLiteral("auto") : QString());
  connect(line, &QLineEdit::editingFinished, this, [this, row] { edit(row); });
  return line;
}

void StateForm::show_state(const session::ViewState& state) {
  filling_ = true;
  for (Row& row : rows_) {
    row.shown = session::typed_text(*row.field, state);
    if (auto* check = qobject_cast<QCheckBox*>(row.widget)) {
      const auto value = row.field->get(state);
      check->setChecked(value && *value == SettingValue(true));
    } else {
      show_value(row.widget, row.shown);
    }
    const bool applies = !row.field->applies || row.field->applies(state);
    row.widget->setVisible(applies);
    if (row.label != nullptr) {
      row.label->setVisible(applies);
    }
  }
  filling_ = false;
}

void StateForm::edit(std::size_t row) {
  const auto* line = qobject_cast<const QLineEdit*>(rows_[row].widget);
  const bool left = line != nullptr && typed(line) == rows_[row].shown;  // a line is also finished by leaving it
  if (!filling_ && !left) {
    last_ = row;
    Q_EMIT changed();
  }
}

session::ViewState StateForm::edited(session::ViewState state) const {
  if (last_ >= rows_.size()) {
    return state;
  }
  const session::StateField& field = *rows_[last_].field;
  if (const auto* check = qobject_cast<const QCheckBox*>(rows_[last_].widget)) {
    field.put(state, SettingValue(check->isChecked()));
  } else {
    static_cast<void>(session::type_field(field, state, typed(rows_[last_].widget), field.parameter.name).ok());
  }
  return state;
}

}  // namespace locus::workbench
