#include "app/workbench/canvas/options_bar.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QSlider>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "app/session/shared_options.h"
#include "app/workbench/widgets/flow_layout.h"

namespace locus::workbench {

namespace {

constexpr int kSteps = 1000;         // of a slider
constexpr int kSliderLetters = 16;   // its length, in letters
constexpr int kMaxPartOfWindow = 4;  // the controls take no more than this part of its height
constexpr double kDecades = 6;       // of a slider that moves by factors and ends at 0

SettingValue value_of(const views::Control& control, const Settings& options) {
  const auto found = options.values().find(control.name);
  return found == options.values().end() ? control.fallback : found->second;
}

double number_of(const SettingValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) {
    return static_cast<double>(*whole);
  }
  const auto* number = std::get_if<double>(&value);
  return number != nullptr ? *number : 0;
}

// Where a slider that moves by factors begins: its lowest value when that is positive.
double first_of(const views::Control& control) {
  const double least = control.kind == views::Control::Kind::kWhole ? 1 : control.high * std::pow(10, -kDecades);
  return control.low > 0 ? control.low : least;
}

int step_of(const views::Control& control, double value) {
  const double share = !control.logarithmic   ? (value - control.low) / (control.high - control.low)
                       : value <= control.low ? 0
                                              : std::log(std::max(value, first_of(control)) / first_of(control)) /
                                                    std::log(control.high / first_of(control));
  return static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * kSteps));
}

double value_at(const views::Control& control, int step) {
  const double share = static_cast<double>(step) / kSteps;
  double value = control.low + share * (control.high - control.low);
  if (control.logarithmic) {
    value = step == 0 ? control.low : first_of(control) * std::pow(control.high / first_of(control), share);
  }
  return control.kind == views::Control::Kind::kWhole ? std::round(value) : value;
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
  setObjectName(QStringLiteral("options"));
  setAccessibleName(QStringLiteral("Options of the view"));
  body_ = new QWidget;
  flow_ = new FlowLayout(body_);
  flow_->setContentsMargins(6, 0, 6, 0);
  body_->installEventFilter(this);
  scroll_ = new QScrollArea(this);
  scroll_->setWidgetResizable(true);
  scroll_->setFrameShape(QFrame::NoFrame);
  scroll_->setFocusPolicy(Qt::NoFocus);  // it follows what has the focus within it
  scroll_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll_->setWidget(body_);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(scroll_);
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
  const int most = std::max(minimumSizeHint().height(), window()->height() / kMaxPartOfWindow);
  return {body_->sizeHint().width(), std::min(flow_->heightForWidth(std::max(width(), 1)), most)};
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
      updateGeometry();
    }
    return QWidget::eventFilter(watched, event);
  }
  if (event->type() == QEvent::Resize && view_ != nullptr) {
    set_hidden(hidden_);
  }
  return QWidget::eventFilter(watched, event);
}

void OptionsBar::set_hidden(bool hidden) {
  hidden_ = hidden;
  setVisible(!hidden && !view_->info().controls.empty() && !gives_way());
}

void OptionsBar::set(const std::string& name, const SettingValue& value) {
  if (filling_) {
    return;
  }
  session::ViewState state = studio_.state();
  const Settings options = state.options[studio_.view().info().name];
  const auto before = options.values().find(name);
  if (before == options.values().end() || !(before->second == value)) {
    session::set_option(state, studio_.view().info().name, name, value);
    studio_.change(state);
  }
}

void OptionsBar::refresh() {
  if (view_ != &studio_.view()) {
    view_ = &studio_.view();
    rebuild();
  }
  filling_ = true;
  const auto& all = studio_.state().options;
  const auto own = all.find(view_->info().name);
  for (const auto& show : showing_) {
    show(own == all.end() ? Settings() : own->second);
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
  for (const views::Control& control : view_->info().controls) {
    flow_->addWidget(make(control));
  }
  set_hidden(hidden_);
  updateGeometry();
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
    showing_.push_back([check, control](const Settings& options) {
      const SettingValue value = value_of(control, options);
      const bool* on = std::get_if<bool>(&value);
      check->setChecked(on != nullptr && *on);
    });
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
      const SettingValue value = value_of(control, options);
      const auto* word = std::get_if<std::string>(&value);
      combo->setCurrentIndex(std::max(0, combo->findText(QString::fromStdString(word == nullptr ? "" : *word))));
    });
    box = combo;
  } else if (control.kind == views::Control::Kind::kText) {
    auto* edit = new QLineEdit(group);
    const QString empty = QString::fromStdString(control.empty);
    edit->setPlaceholderText(empty);
    const int shown = fontMetrics().horizontalAdvance(empty) + 2 * fontMetrics().averageCharWidth();
    edit->setMinimumWidth(std::max(kSliderLetters * fontMetrics().averageCharWidth(), shown));
    edit->setFixedHeight(field_height(fontMetrics()));
    connect(edit, &QLineEdit::editingFinished, this, [this, edit, control] {
      const std::string word = edit->text().toStdString();
      const auto& all = studio_.state().options;
      const auto own = all.find(studio_.view().info().name);
      if (!(value_of(control, own == all.end() ? Settings() : own->second) == SettingValue(word))) {
        set(control.name, word);
      }
    });
    showing_.push_back([edit, control](const Settings& options) {
      const SettingValue value = value_of(control, options);
      const auto* word = std::get_if<std::string>(&value);
      const QString text = QString::fromStdString(word == nullptr ? "" : *word);
      if (edit->text() != text) {
        edit->setText(text);
      }
    });
    box = edit;
  } else if (control.kind != views::Control::Kind::kToggle) {
    box = make_slider(control, group);
  }
  box->setObjectName(QStringLiteral("option-") + QString::fromStdString(control.name));
  box->setAccessibleName(label);
  box->setToolTip(QString::fromStdString(control.help));
  row->addWidget(box);
  group->setToolTip(box->toolTip());
  return group;
}

// A slider, and its number to be read and typed.
QWidget* OptionsBar::make_slider(const views::Control& control, QWidget* group) {
  const bool whole = control.kind == views::Control::Kind::kWhole;
  auto* slider = new QSlider(Qt::Horizontal, group);
  slider->setRange(0, kSteps);
  slider->setPageStep(kSteps / 20);
  slider->setSingleStep(whole && !control.logarithmic
                            ? std::max(1, static_cast<int>(kSteps / std::max(1.0, control.high - control.low)))
                            : kSteps / 100);
  slider->setMinimumWidth(kSliderLetters * fontMetrics().averageCharWidth());
  slider->setAccessibleName(QString::fromStdString(control.label));
  group->layout()->addWidget(slider);
  auto* number = new QDoubleSpinBox(group);
  number->setDecimals(whole ? 0 : 4);
  number->setRange(control.low, control.high);
  number->setStepType(control.logarithmic ? QAbstractSpinBox::AdaptiveDecimalStepType
                                          : QAbstractSpinBox::DefaultStepType);
  number->setSingleStep(whole ? 1 : (control.high - control.low) / 100);
  number->setSpecialValueText(QString::fromStdString(control.lowest));
  number->setKeyboardTracking(false);
  connect(slider, &QSlider::valueChanged, this,
          [this, control](int step) { set(control.name, typed(control, value_at(control, step))); });
  connect(number, &QDoubleSpinBox::valueChanged, this,
          [this, control](double value) { set(control.name, typed(control, value)); });
  showing_.push_back([slider, number, control](const Settings& options) {
    const double value = number_of(value_of(control, options));
    number->setValue(value);
    if (value_at(control, slider->value()) != value) {
      slider->setValue(step_of(control, value));
    }
  });
  return number;
}

}  // namespace locus::workbench
