// RulerLink: the positions of the input's tokens, put on the PositionRuler; tokens pulled on it, made an edit of that
// column, or of the one beside it that has edits.
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

  // The box that shows the ruler, which is away at first.
  QCheckBox* make_switch(QWidget* parent);
  // The column whose tokens are shown.
  void set_column(std::size_t column) { column_ = column; }
  // The positions as they are now: of the column with edits, beside the one whose tokens are shown.
  void update();

 private:
  Studio& studio_;
  PositionRuler& ruler_;
  LiveEdit pulled_;
  std::size_t column_ = 0;
};

}  // namespace locus::workbench
