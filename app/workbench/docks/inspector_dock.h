// The inspector: all values of the cell under the pointer or the pinned one, the colour scale, and the model's
// predictions.
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
  // The inspected query and key; the key is unset if only a query is pinned or under the pointer.
  std::pair<views::Token, views::Token> asked() const;
  void show_query();
  QString chosen_head();
  void show_state();
  void show_colors();  // enables the colour settings that the figure uses
  void show_predictions();
  // Shows in the title what the predictions are of, and in a line what is missing.
  void title_predictions(bool any);

  Studio& studio_;
  TokenPredictions at_token_;
  QTableWidget* cell_ = nullptr;
  QLabel* context_ = nullptr;  // text around query and key
  QGroupBox* colors_box_ = nullptr;
  StateForm* colors_ = nullptr;
  QLabel* predictions_title_ = nullptr;
  QGroupBox* predictions_box_ = nullptr;
  QTableWidget* predictions_ = nullptr;
};

}  // namespace locus::workbench
