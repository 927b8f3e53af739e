// ColumnActions: changes of the columns by the user, as steps for undo() where they replace something.
#pragma once

#include <cstddef>
#include <optional>
#include <set>

#include "app/session/session.h"
#include "app/views/shared/view.h"

namespace locus::workbench {

class Studio;

class ColumnActions {
 public:
  explicit ColumnActions(Studio& studio) : studio_(studio) {}

  // Opens a checkpoint or trace; returns its id. See Columns::open().
  int open(const session::CheckpointEntry& entry);
  void remove(int id);
  // Opens one more column, as one step for undo().
  int open_beside(const session::CheckpointEntry& entry);
  // Replaces the edits of a column; with `undoable`, as a step for undo().
  void change_edits(int id, const models::Edits& edits, bool undoable = true);
  // Gives the column-th shown column a layer and head of its own, or (empty) links it to the others again.
  void set_own_head(std::size_t column, const std::optional<views::HeadRef>& head);
  // Replaces the view's state and links all columns, as one step for undo().
  void reset_view(const session::ViewState& fresh);

  // Shows the encoder of an opened encoder–decoder whose decoder has read only its start token: a decoder map of one
  // cell shows nothing. Call it whenever runs have changed.
  void choose_side();

 private:
  void record_columns();

  Studio& studio_;
  std::set<int> opened_;  // ids opened by the user that have not been shown yet
};

}  // namespace locus::workbench
