#include "app/workbench/docks/what_if_dialog.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QSlider>
#include <algorithm>
#include <cmath>

#include "app/workbench/studio/studio.h"
#include "app/workbench/widgets/build.h"
#include "app/workbench/widgets/qt_text.h"
#include "core/base/numbers.h"

namespace locus::workbench {

namespace {

constexpr int kSliderSteps = 1000;
constexpr int kPauseMs = 40;  // of a slider that moves, before its value runs
constexpr double kLeastBase = 10;
constexpr double kLargestBase = 1e7;
constexpr double kLargestFactor = 64;
constexpr const char* kByLength = "yarn-turns";  // the scaling without a factor: it follows the input's length

int step_of(double value, double low, double high) {
  return static_cast<int>(std::lround(kSliderSteps * std::log(value / low) / std::log(high / low)));
}

double value_at(int step, double low, double high) {
  const double value = low * std::pow(high / low, static_cast<double>(step) / kSliderSteps);
  const double grain = std::pow(10, std::floor(std::log10(value)) - 2);  // three digits, as one would type
  return std::round(value / grain) * grain;
}

}  // namespace

OwnRotation own_rotation(const models::ModelInfo& info) {
  const models::EncodingUse* const use = models::turning_encoding(info);
  OwnRotation own;
  if (use != nullptr) {
    own.base = use->options.number("base", 10000).ok() ? *use->options.number("base", 10000) : 10000;
    own.scaling = use->options.text("scaling", "none").ok() ? *use->options.text("scaling", "none") : "none";
    own.factor = use->options.number("factor", 1).ok() ? *use->options.number("factor", 1) : 1;
    own.scales = use->options.has("scaling");
  }
  return own;
}

WhatIfDialog::WhatIfDialog(Studio& studio, int id, QWidget* parent) : QDialog(parent), studio_(studio), id_(id) {
  const Checkpoint* checkpoint = studio_.checkpoints().find(id_);
  const QString name = checkpoint == nullptr ? QString() : qt(checkpoint->name);
  own_ = checkpoint == nullptr || checkpoint->info() == nullptr ? OwnRotation{} : own_rotation(*checkpoint->info());
  make_lasting(this, "what-if", QStringLiteral("What if: %1").arg(name));
  auto* form = new QFormLayout(this);
  says_ = make_label(this, "what-if-own");
  says_->setText(
      own_.base > 0
          ? QStringLiteral("%1 itself has base %2, scaling %3%4. What you choose runs beside it.")
                .arg(name, qt(number_text(own_.base)), qt(own_.scaling),
                     own_.scaling == "none" ? QString() : QStringLiteral(" by %1").arg(qt(number_text(own_.factor))))
          : QStringLiteral("%1 has no layer that rotates queries and keys: there is nothing to choose.").arg(name));
  form->addRow(says_);
  const auto number = [&](const char* object, double low, double high, double value) {
    auto* box = new QDoubleSpinBox(this);
    box->setObjectName(QLatin1String(object));
    box->setDecimals(3);
    box->setRange(low, high);
    box->setStepType(QAbstractSpinBox::AdaptiveDecimalStepType);
    box->setKeyboardTracking(false);
    box->setValue(std::clamp(value, low, high));
    box->setEnabled(own_.base > 0);
    return box;
  };
  const double own_base = own_.base > 0 ? own_.base : 10000;
  base_ = number("what-if-base", std::min(kLeastBase, own_base), std::max(kLargestBase, own_base), own_base);
  factor_ = number("what-if-factor", 1, std::max(kLargestFactor, own_.factor), own_.factor);
  scaling_ = make_named<QComboBox>(this, "what-if-scaling", QStringLiteral("Scaling"));
  scaling_->addItem(QStringLiteral("as the checkpoint (%1)").arg(qt(own_.scaling)), QString());
  for (const char* kind : {"linear", "ntk", "dynamic", "yarn", kByLength}) {
    scaling_->addItem(QLatin1String(kind), QLatin1String(kind));
  }
  scaling_->setEnabled(own_.scales);
  const auto row = [&](const QString& label, QSlider* slider, QWidget* box) {
    auto* both = new QHBoxLayout;
    both->addWidget(slider, 1);
    both->addWidget(box);
    form->addRow(label, both);
  };
  row(QStringLiteral("Base"),
      add_slider("what-if-base-slider", QStringLiteral("Base"), base_, base_->minimum(), base_->maximum()), base_);
  form->addRow(QStringLiteral("Scaling"), scaling_);
  row(QStringLiteral("Factor"),
      add_slider("what-if-factor-slider", QStringLiteral("Factor"), factor_, 1, factor_->maximum()), factor_);
  form->addRow(make_close_box(this));
  call_after(moved_, kPauseMs, this, &WhatIfDialog::apply);
  const auto move = [this] { moved_.start(); };
  connect(base_, &QDoubleSpinBox::valueChanged, this, move);
  connect(factor_, &QDoubleSpinBox::valueChanged, this, move);
  connect(scaling_, &QComboBox::currentIndexChanged, this, [this, move] {
    findChild<QSlider*>(QStringLiteral("what-if-factor-slider"))->setEnabled(has_factor());
    factor_->setEnabled(has_factor());
    move();
  });
}

// A slider that moves by factors, and the number beside it.
QSlider* WhatIfDialog::add_slider(const char* name, const QString& label, QDoubleSpinBox* number, double low,
                                  double high) {
  auto* slider = new QSlider(Qt::Horizontal, this);
  give_name(slider, name, label);
  number->setAccessibleName(label);
  slider->setRange(0, kSliderSteps);
  slider->setPageStep(kSliderSteps / 20);
  slider->setSingleStep(kSliderSteps / 100);
  slider->setMinimumWidth(24 * fontMetrics().averageCharWidth());
  slider->setEnabled(number->isEnabled());
  slider->setValue(step_of(number->value(), low, high));
  connect(slider, &QSlider::valueChanged, number, [=](int step) {
    if (step != step_of(number->value(), low, high)) {
      number->setValue(value_at(step, low, high));
    }
  });
  connect(number, &QDoubleSpinBox::valueChanged, slider,
          [=](double value) { slider->setValue(step_of(value, low, high)); });
  return slider;
}

bool WhatIfDialog::has_factor() const {
  return scaling_->currentData().toString() != QLatin1String(kByLength);
}

models::Overrides WhatIfDialog::overrides() const {
  models::Overrides overrides;
  if (base_->value() != own_.base) {
    overrides.rope_base = base_->value();
  }
  const std::string kind = scaling_->currentData().toString().toStdString();
  if (!kind.empty()) {
    overrides.rope_scaling = has_factor() ? kind + ":" + number_text(factor_->value()) : kind;
  }
  return overrides;
}

void WhatIfDialog::apply() {
  const Checkpoint* checkpoint = studio_.checkpoints().find(id_);
  if (checkpoint == nullptr) {
    close();
    return;
  }
  if (studio_.checkpoints().find(column_) != nullptr) {
    studio_.columns().change_overrides(column_, overrides());
    return;
  }
  session::CheckpointEntry entry = checkpoint->entry;
  entry.shown = true;
  entry.overrides = overrides();
  column_ = studio_.open(entry);
  if (column_ == id_) {
    column_ = 0;  // as it is: there is nothing beside it yet
  }
}

void show_what_if(Studio& studio, int id, QWidget* parent) {
  if (studio.checkpoints().find(id) != nullptr) {
    (new WhatIfDialog(studio, id, parent))->show();
  }
}

}  // namespace locus::workbench
