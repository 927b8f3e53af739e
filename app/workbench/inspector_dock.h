// The inspector: every value of the cell under the pointer or pinned, how values become colours, and what the model
// predicts next.
#pragma once

#include <QDockWidget>

#include "app/workbench/studio.h"

class QGroupBox;
class QLabel;
class QTableWidget;

namespace locus::workbench {

class StateForm;

class InspectorDock : public QDockWidget {
  Q_OBJECT

 public:
  InspectorDock(Studio& studio, QWidget* parent);

 private:
  QWidget* make_cell();
  QWidget* make_colors();
  QWidget* make_predictions();
  void show_cell();
  void show_context();
  QString chosen_head();
  void show_state();
  void show_colors();  // which of their settings the figure heeds
  void show_predictions();

  Studio& studio_;
  QTableWidget* cell_ = nullptr;
  QLabel* context_ = nullptr;  // the words around query and key
  QGroupBox* colors_box_ = nullptr;
  StateForm* colors_ = nullptr;
  QLabel* predictions_title_ = nullptr;
  QGroupBox* predictions_box_ = nullptr;
  QTableWidget* predictions_ = nullptr;
};

}  // namespace locus::workbench
