// LiveEdit: a gesture that edits a column continuously, for example dragging a token along its positions. The edits go
// to the column itself if it has edits, else to a new column beside it, opened with the first change. Intermediate
// edits are run and drawn as time permits, the last one always. The whole gesture is one step for undo().
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

  // Begins on the column `id`, or on the column beside it that has edits.
  void begin(int id);
  // Shows the edits from before the gesture with this one added. Shifts of the same tokens add up.
  void show(const models::Edit& edit);
  void end();

  // begin(), show() and end() at once.
  void make(int id, const models::Edit& edit);

 private:
  void apply();
  void apply_next();

  Studio& studio_;
  int id_ = 0;
  int column_ = 0;      // column with the edits; 0: not opened yet
  bool begun_ = false;  // the step for undo() exists
  models::Edits before_;
  std::optional<models::Edits> next_;
  QTimer patience_;
};

// Adds an edit to a list. Shifts of the same tokens add up, and vanish at zero; other duplicates are not added.
models::Edits with_edit(models::Edits edits, const models::Edit& edit);

}  // namespace locus::workbench
