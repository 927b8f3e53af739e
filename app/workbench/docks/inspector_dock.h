// The inspector: every value of the cell under the pointer or pinned, how values become colours, and what the model
// predicts.
#pragma once

#include <QDockWidget>
#include <cstdint>
#include <utility>

#include "app/workbench/state/studio.h"
#include "app/workbench/work/token_predictions.h"

class QGroupBox;
class QLabel;
class QTableWidget;

namespace locus::workbench {

class StateForm;

class InspectorDock : public QDockWidget {
  Q_OBJECT

 public:
  InspectorDock(Studio& studio, QWidget* parent);

 protected:
  void changeEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  QWidget* make_cell();
  QWidget* make_colors();
  QWidget* make_predictions();
  void show_cell();
  void show_context();
  // The query and the key that are inspected; a query alone where only it is chosen or pointed at.
  std::pair<views::Token, views::Token> asked() const;
  void show_query();
  QString chosen_head();
  void show_state();
  void show_colors();  // which of their settings the figure heeds
  void show_predictions();
  // What the panel's predictions are of, in its title, and what is missing, in a line of it.
  void title_predictions(bool any);

  Studio& studio_;
  TokenPredictions at_token_;
  QTableWidget* cell_ = nullptr;
  QLabel* context_ = nullptr;  // the words around query and key
  QGroupBox* colors_box_ = nullptr;
  StateForm* colors_ = nullptr;
  QLabel* predictions_title_ = nullptr;
  QGroupBox* predictions_box_ = nullptr;
  QTableWidget* predictions_ = nullptr;
};

}  // namespace locus::workbench
