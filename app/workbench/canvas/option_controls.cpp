#include "app/workbench/canvas/option_controls.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <algorithm>
#include <cmath>

#include "app/workbench/widgets/qt_text.h"

namespace locus::workbench {

namespace {

constexpr int kTextLetters = 16;  // of a field of words

using SetOption = std::function<void(const SettingValue& value)>;
using ShowOption = std::function<void(const Settings& options)>;

// The same as a T; a T of nothing where it is another kind of value.
template <class T>
T value_as(const views::Control& control, const Settings& options) {
  const SettingValue value = option_value(control, options);
  const T* const held = std::get_if<T>(&value);
  return held != nullptr ? *held : T();
}

double number_of(const SettingValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) {
    return static_cast<double>(*whole);
  }
  const auto* number = std::get_if<double>(&value);
  return number != nullptr ? *number : 0;
}

SettingValue typed(const views::Control& control, double value) {
  return control.kind == views::Control::Kind::kWhole ? SettingValue(static_cast<std::int64_t>(std::llround(value)))
                                                      : SettingValue(value);
}

QWidget* make_toggle(const views::Control& control, QWidget* group, const SetOption& set, ShowOption& show) {
  auto* check = new QCheckBox(qt(control.label), group);
  QObject::connect(check, &QCheckBox::toggled, check, [set](bool on) { set(on); });
  show = [check, control](const Settings& options) { check->setChecked(value_as<bool>(control, options)); };
  return check;
}

QWidget* make_choice(const views::Control& control, QWidget* group, const SetOption& set, ShowOption& show) {
  auto* combo = new QComboBox(group);
  for (const std::string& choice : control.choices) {
    combo->addItem(qt(choice));
  }
  QObject::connect(combo, &QComboBox::currentIndexChanged, combo,
                   [set, combo] { set(combo->currentText().toStdString()); });
  show = [combo, control](const Settings& options) {
    combo->setCurrentIndex(std::max(0, combo->findText(qt(value_as<std::string>(control, options)))));
  };
  return combo;
}

QWidget* make_field(const views::Control& control, QWidget* group, const SetOption& set, ShowOption& show) {
  auto* edit = new QLineEdit(group);
  const QFontMetrics metrics = group->fontMetrics();
  edit->setPlaceholderText(qt(control.empty));
  const int shown = metrics.horizontalAdvance(qt(control.empty)) + 2 * metrics.averageCharWidth();
  edit->setMinimumWidth(std::max(kTextLetters * metrics.averageCharWidth(), shown));
  edit->setFixedHeight(option_field_height(metrics));
  QObject::connect(edit, &QLineEdit::editingFinished, edit, [set, edit] { set(edit->text().toStdString()); });
  show = [edit, control](const Settings& options) {
    const QString text = qt(value_as<std::string>(control, options));
    if (edit->text() != text) {
      edit->setText(text);
    }
  };
  return edit;
}

QWidget* make_number(const views::Control& control, QWidget* group, const SetOption& set, ShowOption& show) {
  const bool whole = control.kind == views::Control::Kind::kWhole;
  auto* number = new QDoubleSpinBox(group);
  number->setDecimals(whole ? 0 : 4);
  number->setRange(control.low, control.high);
  number->setStepType(control.logarithmic ? QAbstractSpinBox::AdaptiveDecimalStepType
                                          : QAbstractSpinBox::DefaultStepType);
  number->setSingleStep(whole ? 1 : (control.high - control.low) / 100);
  number->setSpecialValueText(qt(control.lowest));
  number->setKeyboardTracking(false);
  QObject::connect(number, &QDoubleSpinBox::valueChanged, number,
                   [set, control](double value) { set(typed(control, value)); });
  show = [number, control](const Settings& options) { number->setValue(number_of(option_value(control, options))); };
  return number;
}

}  // namespace

SettingValue option_value(const views::Control& control, const Settings& options) {
  const auto found = options.values().find(control.name);
  return found == options.values().end() ? control.fallback : found->second;
}

int option_field_height(const QFontMetrics& metrics) {
  return metrics.height() + 2;
}

OptionControl make_option_control(const views::Control& control, QWidget& parent, const SetOption& set) {
  using Kind = views::Control::Kind;
  OptionControl made;
  made.group = new QWidget(&parent);
  auto* row = new QHBoxLayout(made.group);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(6);
  if (control.kind != Kind::kToggle) {
    row->addWidget(new QLabel(qt(control.label), made.group));
  }
  const auto make = control.kind == Kind::kToggle   ? make_toggle
                    : control.kind == Kind::kChoice ? make_choice
                    : control.kind == Kind::kText   ? make_field
                                                    : make_number;
  QWidget* const box = make(control, made.group, set, made.show);
  made.box = box;
  box->setObjectName(QStringLiteral("option-") + qt(control.name));
  box->setAccessibleName(qt(control.label));
  box->setToolTip(qt(control.help));
  row->addWidget(box);
  made.group->setToolTip(box->toolTip());
  return made;
}

}  // namespace locus::workbench
