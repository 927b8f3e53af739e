// WhatIfDialog: sliders for the base and the scaling of a checkpoint's rotary encoding, initially at the checkpoint's
// own values, and whether its products are fast. Changes run while they move, in a column beside the checkpoint's, and
// the divergence of the predictions is said below them. Does not block the window.
#pragma once

#include <QDialog>
#include <QTimer>

#include "app/workbench/work/what_if_effect.h"
#include "models/api/model.h"

class QCheckBox;
class QComboBox;
class QDoubleSpinBox;
class QFormLayout;
class QLabel;
class QSlider;

namespace locus::workbench {

class Studio;

// The rotary encoding of a checkpoint without overrides.
struct OwnRotation {
  double base = 0;  // 0: no layer has a rotary encoding
  std::string scaling = "none";
  double factor = 1;
  bool scales = false;  // supports scaling
};
// Layers that the overrides apply to, as in models::Overrides.
OwnRotation own_rotation(const models::ModelInfo& info, const std::string& layers = {});

class WhatIfDialog : public QDialog {
  Q_OBJECT

 public:
  WhatIfDialog(Studio& studio, int id, QWidget* parent);

 private:
  QSlider* add_slider(const char* name, const QString& label, QDoubleSpinBox* number);
  void apply();
  void add_layers(QFormLayout& form);
  void choose_layers();
  void say_own();
  void choose_scaling();
  void say_effect();
  std::string layers() const;
  models::Overrides overrides() const;

  Studio& studio_;
  const int id_;
  models::ModelInfo info_;  // of the checkpoint
  QString name_;
  OwnRotation own_;  // of the chosen layers
  int column_ = 0;   // column with the overrides; 0: none yet
  QDoubleSpinBox* base_ = nullptr;
  QDoubleSpinBox* factor_ = nullptr;
  QComboBox* scaling_ = nullptr;
  QComboBox* layers_ = nullptr;
  QCheckBox* fast_ = nullptr;
  QCheckBox* half_ = nullptr;
  QLabel* number_label_ = nullptr;  // of the scaling's number
  QLabel* error_label_ = nullptr;
  QLabel* effect_label_ = nullptr;
  WhatIfEffect effect_;
  QTimer moved_;
};

// Opens the dialog, unless the column was closed.
void show_what_if(Studio& studio, int id, QWidget* parent);

}  // namespace locus::workbench
