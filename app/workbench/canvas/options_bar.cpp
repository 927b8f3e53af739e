#include "app/workbench/canvas/options_bar.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QToolButton>
#include <algorithm>
#include <cmath>

#include "app/session/shared_options.h"
#include "app/workbench/studio/change_state.h"
#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/flow_layout.h"

namespace locus::workbench {

namespace {

constexpr int kTextLetters = 16;     // of a field of words
constexpr int kMaxPartOfWindow = 4;  // all controls take no more than this part of its height

SettingValue value_of(const views::Control& control, const Settings& options) {
  const auto found = options.values().find(control.name);
  return found == options.values().end() ? control.fallback : found->second;
}

// The same as a T; a T of nothing where it is another kind of value.
template <class T>
T value_as(const views::Control& control, const Settings& options) {
  const SettingValue value = value_of(control, options);
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

// The strip of a map's one field takes little from the map.
int field_height(const QFontMetrics& metrics) {
  return metrics.height() + 2;
}

SettingValue typed(const views::Control& control, double value) {
  return control.kind == views::Control::Kind::kWhole ? SettingValue(static_cast<std::int64_t>(std::llround(value)))
                                                      : SettingValue(value);
}

}  // namespace

OptionsBar::OptionsBar(Studio& studio, QWidget* parent) : QWidget(parent), studio_(studio) {
  give_name(this, "options", QStringLiteral("Options of the view"));
  body_ = new QWidget;
  flow_ = new FlowLayout(body_);
  flow_->setContentsMargins(6, 0, 6, 0);
  body_->installEventFilter(this);
  scroll_ = make_scroll(this, body_);
  more_ = make_button<QToolButton>(this, "more-options", QStringLiteral("More…"),
                                   QStringLiteral("All options of the view, in as many lines as they need"));
  more_->setAccessibleName(QStringLiteral("More options"));
  more_->setCheckable(true);
  connect(more_, &QToolButton::toggled, this, &OptionsBar::updateGeometry);
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(0, 0, 4, 0);
  layout->addWidget(scroll_, 1);
  layout->addWidget(more_, 0, Qt::AlignTop);
  setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Preferred);
  connect(&studio_, &Studio::state_changed, this, &OptionsBar::refresh);
  refresh();
  if (parent != nullptr) {
    parent->window()->installEventFilter(this);
  }
}

bool OptionsBar::gives_way() const {
  constexpr int kSmallScreen = 800;
  const auto& all = studio_.state().options;
  const auto own = all.find(view_->info().name);
  return window()->height() <= kSmallScreen &&
         std::ranges::all_of(view_->info().controls, [&](const views::Control& control) {
           const bool set = own != all.end() && !(value_of(control, own->second) == value_of(control, Settings()));
           return control.kind == views::Control::Kind::kText && !set;
         });
}

QSize OptionsBar::minimumSizeHint() const {
  int line = 0;
  for (int n = 0; n < flow_->count(); ++n) {
    line = std::max(line, flow_->itemAt(n)->sizeHint().height());
  }
  return {0, line};
}

QSize OptionsBar::sizeHint() const {
  if (!more_->isChecked()) {
    return {body_->sizeHint().width(), minimumSizeHint().height()};
  }
  const int most = std::max(minimumSizeHint().height(), window()->height() / kMaxPartOfWindow);
  return {body_->sizeHint().width(), std::min(flow_->heightForWidth(std::max(scroll_->width(), 1)), most)};
}

void OptionsBar::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::FontChange) {
    for (auto* edit : findChildren<QLineEdit*>()) {
      if (edit->objectName().startsWith(QStringLiteral("option-"))) {
        edit->setFixedHeight(field_height(fontMetrics()));
      }
    }
  }
}

bool OptionsBar::eventFilter(QObject* watched, QEvent* event) {
  if (watched == body_) {
    if (event->type() == QEvent::LayoutRequest || event->type() == QEvent::Resize) {
      fold();
      updateGeometry();
    }
    return QWidget::eventFilter(watched, event);
  }
  if (event->type() == QEvent::Resize && view_ != nullptr) {
    set_hidden(hidden_);
  }
  return QWidget::eventFilter(watched, event);
}

// Controls that have one line have nothing to unfold.
void OptionsBar::fold() {
  const bool lines = flow_->heightForWidth(std::max(scroll_->width(), 1)) > minimumSizeHint().height() + 1;
  more_->setVisible(lines || more_->isChecked());
}

void OptionsBar::set_hidden(bool hidden) {
  hidden_ = hidden;
  setVisible(!hidden && !view_->info().controls.empty() && !gives_way());
}

// What is set of the view's options.
Settings OptionsBar::present_options() const {
  const auto& all = studio_.state().options;
  const auto own = all.find(studio_.view().info().name);
  return own == all.end() ? Settings() : own->second;
}

void OptionsBar::set(const std::string& name, const SettingValue& value) {
  if (filling_) {
    return;
  }
  const Settings options = present_options();
  const auto before = options.values().find(name);
  if (before == options.values().end() || !(before->second == value)) {
    change_state(studio_, [&](session::ViewState& state) {
      session::set_option(state, studio_.view().info().name, name, value);
    });
  }
}

void OptionsBar::refresh() {
  if (view_ != &studio_.view()) {
    view_ = &studio_.view();
    rebuild();
  }
  filling_ = true;
  for (const auto& show : showing_) {
    show(present_options());
  }
  filling_ = false;
  set_hidden(hidden_);
}

void OptionsBar::rebuild() {
  showing_.clear();
  while (QLayoutItem* item = flow_->takeAt(0)) {
    item->widget()->deleteLater();  // its signal may be what brought us here
    item->widget()->hide();
    delete item;
  }
  // What is not on the figure comes first: of the others the fields are for who types.
  for (const bool brushed : {false, true}) {
    for (const views::Control& control : view_->info().controls) {
      if (is_brushed(control) == brushed) {
        flow_->addWidget(make(control));
      }
    }
  }
  more_->setChecked(false);
  fold();
  set_hidden(hidden_);
  updateGeometry();
}

bool OptionsBar::is_brushed(const views::Control& control) const {
  return std::ranges::any_of(view_->info().brushes, [&](const views::RangeBrush& brush) {
    return control.name == brush.low || control.name == brush.high;
  });
}

QWidget* OptionsBar::make(const views::Control& control) {
  const QString label = QString::fromStdString(control.label);
  auto* group = new QWidget(this);
  auto* row = new QHBoxLayout(group);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(6);
  QWidget* box = nullptr;
  if (control.kind == views::Control::Kind::kToggle) {
    auto* check = new QCheckBox(label, group);
    connect(check, &QCheckBox::toggled, this, [this, name = control.name](bool on) { set(name, on); });
    showing_.push_back(
        [check, control](const Settings& options) { check->setChecked(value_as<bool>(control, options)); });
    box = check;
  } else {
    row->addWidget(new QLabel(label, group));
  }
  if (control.kind == views::Control::Kind::kChoice) {
    auto* combo = new QComboBox(group);
    for (const std::string& choice : control.choices) {
      combo->addItem(QString::fromStdString(choice));
    }
    connect(combo, &QComboBox::currentIndexChanged, this,
            [this, combo, name = control.name] { set(name, combo->currentText().toStdString()); });
    showing_.push_back([combo, control](const Settings& options) {
      const QString word = QString::fromStdString(value_as<std::string>(control, options));
      combo->setCurrentIndex(std::max(0, combo->findText(word)));
    });
    box = combo;
  } else if (control.kind == views::Control::Kind::kText) {
    auto* edit = new QLineEdit(group);
    const QString empty = QString::fromStdString(control.empty);
    edit->setPlaceholderText(empty);
    const int shown = fontMetrics().horizontalAdvance(empty) + 2 * fontMetrics().averageCharWidth();
    edit->setMinimumWidth(std::max(kTextLetters * fontMetrics().averageCharWidth(), shown));
    edit->setFixedHeight(field_height(fontMetrics()));
    connect(edit, &QLineEdit::editingFinished, this, [this, edit, control] {
      const std::string word = edit->text().toStdString();
      if (!(value_of(control, present_options()) == SettingValue(word))) {
        set(control.name, word);
      }
    });
    showing_.push_back([edit, control](const Settings& options) {
      const QString text = QString::fromStdString(value_as<std::string>(control, options));
      if (edit->text() != text) {
        edit->setText(text);
      }
    });
    box = edit;
  } else if (control.kind != views::Control::Kind::kToggle) {
    box = make_number(control, group);
  }
  box->setObjectName(QStringLiteral("option-") + QString::fromStdString(control.name));
  box->setAccessibleName(label);
  box->setToolTip(QString::fromStdString(control.help));
  row->addWidget(box);
  group->setToolTip(box->toolTip());
  return group;
}

QWidget* OptionsBar::make_number(const views::Control& control, QWidget* group) {
  const bool whole = control.kind == views::Control::Kind::kWhole;
  auto* number = new QDoubleSpinBox(group);
  number->setDecimals(whole ? 0 : 4);
  number->setRange(control.low, control.high);
  number->setStepType(control.logarithmic ? QAbstractSpinBox::AdaptiveDecimalStepType
                                          : QAbstractSpinBox::DefaultStepType);
  number->setSingleStep(whole ? 1 : (control.high - control.low) / 100);
  number->setSpecialValueText(QString::fromStdString(control.lowest));
  number->setKeyboardTracking(false);
  connect(number, &QDoubleSpinBox::valueChanged, this,
          [this, control](double value) { set(control.name, typed(control, value)); });
  showing_.push_back(
      [number, control](const Settings& options) { number->setValue(number_of(value_of(control, options))); });
  return number;
}

}  // namespace locus::workbench
