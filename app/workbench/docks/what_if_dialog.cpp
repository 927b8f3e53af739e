#include "app/workbench/docks/what_if_dialog.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSlider>
#include <algorithm>
#include <array>
#include <cmath>

#include "app/workbench/state/studio.h"
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
const QString kOwnScaling = QStringLiteral("as the checkpoint (%1)");

// A scaling that can be chosen, and its number, which is written behind the colon.
struct Scaling {
  const char* name;    // in the list
  const char* kind;    // as in models::Overrides
  const char* suffix;  // behind the number
  const char* number;  // the label; empty: it follows the input's length
  double low = 1;
  double high = kLargestFactor;
  double value = 1;  // at first
  int decimals = 3;
};
constexpr std::array kScalings{
    Scaling{"linear", "linear", "", "Factor"},
    Scaling{"ntk", "ntk", "", "Factor"},
    Scaling{"dynamic", "dynamic", "", "Factor"},
    Scaling{"yarn", "yarn", "", "Factor"},
    Scaling{"yarn-turns", "yarn-turns", "", ""},
    Scaling{"proportional", "proportional", "", "Share of pairs that turn", 0.01, 1, 1},
    Scaling{"clipped, soft", "clipped", "", "Slowest pairs", 2, 128, 20, 0},
    Scaling{"clipped, hard", "clipped", ":hard", "Slowest pairs", 1, 128, 20, 0},
};

int step_of(double value, double low, double high) {
  return static_cast<int>(std::lround(kSliderSteps * std::log(value / low) / std::log(high / low)));
}

double value_at(int step, double low, double high) {
  const double value = low * std::pow(high / low, static_cast<double>(step) / kSliderSteps);
  const double grain = std::pow(10, std::floor(std::log10(value)) - 2);  // three digits, as one would type
  return std::round(value / grain) * grain;
}

}  // namespace

OwnRotation own_rotation(const models::ModelInfo& info, const std::string& layers) {
  const models::EncodingUse* const use = models::turning_encoding(info, layers);
  OwnRotation own;
  if (use != nullptr) {
    own.base = use->options.number("base", 10000).ok() ? *use->options.number("base", 10000) : 10000;
    own.scaling = use->options.text("scaling", "none").ok() ? *use->options.text("scaling", "none") : "none";
    own.factor = use->options.number("factor", 1).ok() ? *use->options.number("factor", 1) : 1;
    own.scales = use->options.has("scaling");
  }
  return own;
}

WhatIfDialog::WhatIfDialog(Studio& studio, int id, QWidget* parent)
    : QDialog(parent), studio_(studio), id_(id), effect_(studio.worker()) {
  const Checkpoint* checkpoint = studio_.checkpoints().find(id_);
  name_ = checkpoint == nullptr ? QString() : qt(checkpoint->name);
  info_ = checkpoint == nullptr || checkpoint->info() == nullptr ? models::ModelInfo{} : *checkpoint->info();
  own_ = own_rotation(info_);
  make_lasting(this, "what-if", QStringLiteral("What if: %1").arg(name_));
  auto* form = new QFormLayout(this);
  error_label_ = make_label(this, "what-if-own");
  form->addRow(error_label_);
  add_layers(*form);
  say_own();
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
  scaling_->addItem(kOwnScaling.arg(qt(own_.scaling)), QString());
  for (const Scaling& each : kScalings) {
    scaling_->addItem(QLatin1String(each.name));
  }
  scaling_->setEnabled(own_.scales);
  const auto row = [&](const QString& label, QSlider* slider, QWidget* box) {
    auto* both = new QHBoxLayout;
    both->addWidget(slider, 1);
    both->addWidget(box);
    form->addRow(label, both);
  };
  row(QStringLiteral("Base"), add_slider("what-if-base-slider", QStringLiteral("Base"), base_), base_);
  form->addRow(QStringLiteral("Scaling"), scaling_);
  number_label_ = new QLabel(QStringLiteral("Factor"), this);
  auto* number_row = new QHBoxLayout;
  number_row->addWidget(add_slider("what-if-factor-slider", QStringLiteral("Factor"), factor_), 1);
  number_row->addWidget(factor_);
  form->addRow(number_label_, number_row);
  fast_ = make_named<QCheckBox>(this, "what-if-fast", QStringLiteral("Fast products"));
  fast_->setText(QStringLiteral("fast, not exact: tokens are rounded"));
  fast_->setToolTip(
      QStringLiteral("Where the weights are in blocks (GGUF), each further token of a text is rounded to 8 bits, a "
                     "text that is read at once to 14"));
  fast_->setChecked(checkpoint != nullptr && checkpoint->entry.overrides.fast);
  form->addRow(QStringLiteral("Products"), fast_);
  half_ = make_named<QCheckBox>(this, "what-if-half", QStringLiteral("Text half"));
  half_->setText(QStringLiteral("the text half of a checkpoint with two (CLIP, SigLIP)"));
  half_->setChecked(checkpoint != nullptr && !checkpoint->entry.overrides.half.empty());
  half_->setEnabled(half_->isChecked() || info_.logit_scale);
  form->addRow(QStringLiteral("Half"), half_);
  effect_label_ = make_label(this, "what-if-effect");
  effect_label_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  effect_label_->setMinimumHeight(2 * effect_label_->fontMetrics().lineSpacing());  // the sliders keep their places
  form->addRow(QStringLiteral("Effect"), effect_label_);
  auto* buttons = make_close_box(this);
  buttons->button(QDialogButtonBox::Close)->setAutoDefault(false);  // Enter ends typing a number or layers
  form->addRow(buttons);
  call_after(moved_, kPauseMs, this, &WhatIfDialog::apply);
  const auto move = [this] { moved_.start(); };
  connect(base_, &QDoubleSpinBox::valueChanged, this, move);
  connect(fast_, &QCheckBox::toggled, this, move);
  connect(half_, &QCheckBox::toggled, this, move);
  connect(factor_, &QDoubleSpinBox::valueChanged, this, move);
  connect(scaling_, &QComboBox::currentIndexChanged, this, [this, move] {
    choose_scaling();
    move();
  });
  for (const auto signal :
       {&Studio::runs_changed, &Studio::checkpoints_changed, &Studio::figure_changed, &Studio::state_changed}) {
    connect(&studio_, signal, this, &WhatIfDialog::say_effect);
  }
  connect(&studio_.columns().runs(), &CheckpointRuns::started, &effect_, &WhatIfEffect::hold);
  connect(&effect_, &WhatIfEffect::changed, this, &WhatIfDialog::say_effect);
  connect(this, &QDialog::finished, &effect_, &WhatIfEffect::hold);
  say_effect();
}

// What the choice changes of the predictions, once its column has run.
void WhatIfDialog::say_effect() {
  const Checkpoint* const own = studio_.checkpoints().find(id_);
  const Checkpoint* const changed = studio_.checkpoints().find(column_);
  if (own == nullptr || changed == nullptr) {
    effect_label_->setText(QStringLiteral("none yet: the checkpoint is as it was"));
    return;
  }
  // Behind the figure: what is seen first is drawn first.
  if (isVisible() && !studio_.checkpoints().waiting() && !studio_.scheduler().is_stale()) {
    effect_.ask(*own, *changed);
  }
  const auto* const effect = effect_.of(*changed);
  effect_label_->setText(effect == nullptr ? QStringLiteral("…")
                         : effect->ok()    ? qt(effect_text(**effect))
                                           : qt(effect->error().describe()));
}

// Takes the label and the range of the scaling's number; the value too where it is another number than before.
void WhatIfDialog::choose_scaling() {
  const bool chosen = scaling_->currentIndex() > 0;
  const Scaling scaling = chosen ? kScalings[static_cast<std::size_t>(scaling_->currentIndex() - 1)] : kScalings[0];
  const bool has_number = *scaling.number != 0;
  auto* slider = findChild<QSlider*>(QStringLiteral("what-if-factor-slider"));
  slider->setEnabled(has_number);
  factor_->setEnabled(has_number);
  const QString label = QLatin1String(has_number ? scaling.number : "Factor");
  const bool is_other_number = number_label_->text() != label;
  number_label_->setText(label);
  if (has_number) {
    const bool is_factor = scaling.high == kLargestFactor;
    factor_->setDecimals(scaling.decimals);
    factor_->setRange(scaling.low, is_factor ? std::max(kLargestFactor, own_.factor) : scaling.high);
    if (is_other_number) {
      factor_->setValue(is_factor ? own_.factor : scaling.value);
    }
    slider->setValue(step_of(factor_->value(), factor_->minimum(), factor_->maximum()));
  }
}

// Chooses the layers that obey: those that the checkpoint's own fields rule, or others, chosen or typed.
void WhatIfDialog::add_layers(QFormLayout& form) {
  const std::string usual = models::usual_layers(info_);
  layers_ = make_named<QComboBox>(this, "what-if-layers", QStringLiteral("Layers"));
  layers_->setEditable(true);
  layers_->setInsertPolicy(QComboBox::NoInsert);
  layers_->setToolTip(QStringLiteral("Layers to change: choose, or type numbers such as 5,11,17"));
  layers_->addItem(usual.empty() ? QStringLiteral("all that rotate") : qt("as the checkpoint (" + usual + ")"),
                   QString());
  if (models::turning_encoding(info_, "global") != nullptr && models::turning_encoding(info_, "local") != nullptr) {
    for (const char* const kind : {"global", "local"}) {
      layers_->addItem(QLatin1String(kind), QLatin1String(kind));
    }
  }
  layers_->setEnabled(own_.base > 0);
  form.addRow(QStringLiteral("Layers"), layers_);
  connect(layers_, &QComboBox::activated, this, &WhatIfDialog::choose_layers);
  connect(layers_->lineEdit(), &QLineEdit::editingFinished, this, &WhatIfDialog::choose_layers);
}

std::string WhatIfDialog::layers() const {
  const int known = layers_->findText(layers_->currentText().trimmed());
  return known >= 0 ? layers_->itemData(known).toString().toStdString()
                    : layers_->currentText().remove(QLatin1Char(' ')).toStdString();
}

// A base that nobody has changed follows the layers.
void WhatIfDialog::choose_layers() {
  const OwnRotation own = own_rotation(info_, layers());
  if (own.base <= 0) {
    error_label_->setText(
        QStringLiteral("Layers: expected global, local or layers that rotate, from 0 to %1, as in 5,11; "
                       "found %2.")
            .arg(info_.layers - 1)
            .arg(layers_->currentText()));
    return;
  }
  const bool unedited = base_->value() == own_.base;
  own_ = own;
  say_own();
  scaling_->setItemText(0, kOwnScaling.arg(qt(own_.scaling)));
  scaling_->setEnabled(own_.scales);
  if (unedited) {
    base_->setValue(own_.base);
  }
  moved_.start();
}

void WhatIfDialog::say_own() {
  const std::string chosen = layers().empty() ? models::usual_layers(info_) : layers();
  const QString where = chosen.empty()                            ? QString()
                        : chosen == "global" || chosen == "local" ? qt(" in its " + chosen + " layers")
                                                                  : qt(" in layers " + chosen);
  error_label_->setText(
      own_.base > 0
          ? QStringLiteral("%1 itself has base %2, scaling %3%4%5. Your choice runs in a column beside it.")
                .arg(name_, qt(number_text(own_.base)), qt(own_.scaling),
                     own_.scaling == "none" ? QString() : QStringLiteral(" by %1").arg(qt(number_text(own_.factor))),
                     where)
          : QStringLiteral("%1 has no layer with a rotary encoding: it has no base and no scaling.").arg(name_));
}

// A slider that moves by factors, and the number beside it.
QSlider* WhatIfDialog::add_slider(const char* name, const QString& label, QDoubleSpinBox* number) {
  auto* slider = new QSlider(Qt::Horizontal, this);
  give_name(slider, name, label);
  number->setAccessibleName(label);
  slider->setRange(0, kSliderSteps);
  slider->setPageStep(kSliderSteps / 20);
  slider->setSingleStep(kSliderSteps / 100);
  slider->setMinimumWidth(24 * fontMetrics().averageCharWidth());
  slider->setEnabled(number->isEnabled());
  const auto own_step = [number] { return step_of(number->value(), number->minimum(), number->maximum()); };
  slider->setValue(own_step());
  connect(slider, &QSlider::valueChanged, number, [=](int step) {
    if (step != own_step()) {
      number->setValue(value_at(step, number->minimum(), number->maximum()));
    }
  });
  connect(number, &QDoubleSpinBox::valueChanged, slider, [=] { slider->setValue(own_step()); });
  return slider;
}

models::Overrides WhatIfDialog::overrides() const {
  models::Overrides overrides;
  if (own_.base > 0 && base_->value() != own_.base) {
    overrides.rope_base = base_->value();
    overrides.rope_base_layers = layers();
  }
  if (scaling_->currentIndex() > 0) {
    const Scaling& scaling = kScalings[static_cast<std::size_t>(scaling_->currentIndex() - 1)];
    overrides.rope_scaling = scaling.kind;
    if (*scaling.number != 0) {
      overrides.rope_scaling += ":" + number_text(factor_->value()) + scaling.suffix;
    }
    overrides.rope_scaling_layers = layers();
  }
  overrides.fast = fast_->isChecked();
  if (const Checkpoint* const checkpoint = studio_.checkpoints().find(id_); checkpoint != nullptr) {
    overrides.stage = checkpoint->entry.overrides.stage;
  }
  overrides.half = half_->isChecked() ? "text" : "";
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
  column_ = studio_.column_actions().open(entry);
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
