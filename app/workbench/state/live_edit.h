// LiveEdit: a gesture that edits a column while it goes on, say a token that is pulled along its positions. The column
// that has the edits is the one that was begun with, or stands beside it: one more opens with the first change. What is
// shown last is what holds; on the way as much is run and drawn as there is time for, and all of it is one step for
// undo().
#pragma once

#include <QObject>
#include <QTimer>
#include <optional>

#include "app/workbench/state/studio.h"

namespace locus::workbench {

class LiveEdit : public QObject {
  Q_OBJECT

 public:
  LiveEdit(Studio& studio, QObject* parent);

  // Begins on the column `id`, or on the one next to it that has edits.
  void begin(int id);
  // The edits that were there, and this one. A shift is added to a shift of the same tokens.
  void show(const models::Edit& edit);
  void end();

  // begin, show and end.
  void make(int id, const models::Edit& edit);

 private:
  void apply();
  void apply_next();

  Studio& studio_;
  int id_ = 0;
  int column_ = 0;      // with the edits; 0: not yet
  bool begun_ = false;  // with a step for undo()
  models::Edits before_;
  std::optional<models::Edits> next_;
  QTimer patience_;
};

// `edits` and one more: a shift is added to one of the same tokens, which goes where nothing is left of it; any other
// that is there already is not there twice.
models::Edits with_edit(models::Edits edits, const models::Edit& edit);

}  // namespace locus::workbench
