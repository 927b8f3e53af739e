// RulerLink: shows the positions of a column's tokens on the PositionRuler, and turns moved tokens into an edit of that
// column, or of the column beside it that has edits.
#pragma once

#include <QObject>
#include <cstddef>

#include "app/workbench/input/position_ruler.h"
#include "app/workbench/state/live_edit.h"
#include "app/workbench/state/studio.h"

class QCheckBox;
class QWidget;

namespace locus::workbench {

class RulerLink : public QObject {
  Q_OBJECT

 public:
  RulerLink(Studio& studio, PositionRuler& ruler, QObject* parent);

  // Creates the check box that shows the ruler, which is hidden at first.
  QCheckBox* make_switch(QWidget* parent);
  // Chooses the column whose tokens are shown.
  void set_column(std::size_t column) { column_ = column; }
  // The present positions: those of the column with edits beside the shown one, if there is one.
  void update();

 private:
  Studio& studio_;
  PositionRuler& ruler_;
  LiveEdit pulled_;
  std::size_t column_ = 0;
};

}  // namespace locus::workbench
