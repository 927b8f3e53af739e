// WhatIfDialog: sliders for the base and scaling of a checkpoint's rotations. They begin at the checkpoint's own
// values; what they say runs as they move, in one more column beside the checkpoint's. Does not block the window.
#pragma once

#include <QDialog>
#include <QTimer>

#include "models/api/model.h"

class QComboBox;
class QDoubleSpinBox;
class QFormLayout;
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
// Changes these layers alone, as models::Overrides names them.
OwnRotation own_rotation(const models::ModelInfo& info, const std::string& layers = {});

class WhatIfDialog : public QDialog {
  Q_OBJECT

 public:
  WhatIfDialog(Studio& studio, int id, QWidget* parent);

 private:
  QSlider* add_slider(const char* name, const QString& label, QDoubleSpinBox* number, double low, double high);
  void apply();
  void add_layers(QFormLayout& form);
  void choose_layers();
  void say_own();
  bool has_factor() const;
  std::string layers() const;
  models::Overrides overrides() const;

  Studio& studio_;
  const int id_;
  models::ModelInfo info_;  // of what it began with
  QString name_;
  OwnRotation own_;  // of the chosen layers
  int column_ = 0;   // that it opened; 0: none yet
  QDoubleSpinBox* base_ = nullptr;
  QDoubleSpinBox* factor_ = nullptr;
  QComboBox* scaling_ = nullptr;
  QComboBox* layers_ = nullptr;
  QLabel* says_ = nullptr;
  QTimer moved_;
};

// Opens the dialog, unless the column has gone.
void show_what_if(Studio& studio, int id, QWidget* parent);

}  // namespace locus::workbench
