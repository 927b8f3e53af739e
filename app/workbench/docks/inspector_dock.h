// The inspector: all values of the cell under the pointer or the pinned one, the colour scale, and the model's
// predictions.
#pragma once

#include <QDockWidget>
#include <QStringList>
#include <cstdint>
#include <utility>
#include <vector>

#include "app/workbench/state/studio.h"
#include "app/workbench/work/token_predictions.h"

class QGroupBox;
class QLabel;
class QTableWidget;

namespace locus::workbench {

class FoldBox;
class StateForm;

class InspectorDock : public QDockWidget {
  Q_OBJECT

 public:
  InspectorDock(Studio& studio, QWidget* parent);

 Q_SIGNALS:
  // A table with a row for each column of the comparison would be read without scrolling at this width; 0: any will do.
  void wants_width(int width);

 protected:
  void changeEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  QWidget* make_cell();
  QWidget* make_colors();
  QWidget* make_predictions();
  // A value of a cell: its row, and the texts and tooltips of the columns.
  struct CellRow {
    QStringList texts;
    QStringList tips;
    bool shown = true;
  };
  void show_cell();
  std::vector<CellRow> cell_rows() const;
  void fill_by_values(const std::vector<CellRow>& rows);
  void fill_by_models(const std::vector<CellRow>& rows);
  QStringList cell_names() const;
  void ask_width();
  void show_context();
  // The inspected query and key; the key is unset if only a query is pinned or under the pointer.
  std::pair<views::Token, views::Token> asked() const;
  void show_query();
  QString chosen_head();
  void show_state();
  void show_colors();  // enables the colour settings that the figure uses
  void show_predictions();
  void show_prediction(const models::Prediction& prediction, int row, int column);
  // Shows in the title what the predictions are of, and in a line what is missing.
  void title_predictions(bool any);

  Studio& studio_;
  TokenPredictions at_token_;
  QGroupBox* cell_box_ = nullptr;
  QTableWidget* cell_ = nullptr;
  QLabel* context_ = nullptr;  // text around query and key
  bool cell_seen_ = false;     // its rows keep their room
  int asked_width_ = 0;
  FoldBox* colors_box_ = nullptr;
  StateForm* colors_ = nullptr;
  QLabel* predictions_title_ = nullptr;
  QGroupBox* predictions_box_ = nullptr;
  QTableWidget* predictions_ = nullptr;
};

}  // namespace locus::workbench
