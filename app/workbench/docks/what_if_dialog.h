// WhatIfDialog: sliders for the base and scaling of a checkpoint's rotations. They begin at the checkpoint's own
// values; what they say runs as they move, in one more column beside the checkpoint's. Does not block the window.
#pragma once

#include <QDialog>
#include <QTimer>

#include "models/api/model.h"

class QComboBox;
class QDoubleSpinBox;
class QLabel;
class QSlider;

namespace locus::workbench {

class Studio;

// What a checkpoint's rotating encoding has by itself.
struct OwnRotation {
  double base = 0;  // 0: no layer rotates
  std::string scaling = "none";
  double factor = 1;
  bool scales = false;  // takes a scaling
};
OwnRotation own_rotation(const models::ModelInfo& info);

class WhatIfDialog : public QDialog {
  Q_OBJECT

 public:
  WhatIfDialog(Studio& studio, int id, QWidget* parent);

 private:
  QSlider* add_slider(const char* name, const QString& label, QDoubleSpinBox* number, double low, double high);
  void apply();
  bool has_factor() const;
  models::Overrides overrides() const;

  Studio& studio_;
  const int id_;
  OwnRotation own_;
  int column_ = 0;  // that it opened; 0: none yet
  QDoubleSpinBox* base_ = nullptr;
  QDoubleSpinBox* factor_ = nullptr;
  QComboBox* scaling_ = nullptr;
  QLabel* says_ = nullptr;
  QTimer moved_;
};

// Opens the dialog, unless the column has gone.
void show_what_if(Studio& studio, int id, QWidget* parent);

}  // namespace locus::workbench
