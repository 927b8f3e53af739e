// The bar above the canvas: view, layer, head and quantity.
#pragma once

#include <QToolBar>

#include "app/workbench/state/studio.h"

class QComboBox;
class QCheckBox;
class QSpinBox;

namespace locus::workbench {

class ViewBar : public QToolBar {
  Q_OBJECT

 public:
  ViewBar(Studio& studio, QWidget* parent);

 private:
  void refresh();
  void apply();

  Studio& studio_;
  QComboBox* view_ = nullptr;
  QSpinBox* layer_ = nullptr;
  QSpinBox* head_ = nullptr;
  QComboBox* side_ = nullptr;
  QComboBox* quantity_ = nullptr;
  QCheckBox* difference_ = nullptr;
  QComboBox* reference_ = nullptr;
  QStringList names_;            // of the columns in the list
  QList<QAction*> of_side_;      // visible while a column has sides
  QList<QAction*> of_quantity_;  // visible while the view has quantities
  QAction* of_difference_ = nullptr;
  QAction* of_reference_ = nullptr;
  bool filling_ = false;
};

}  // namespace locus::workbench
