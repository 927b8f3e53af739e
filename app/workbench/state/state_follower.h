// StateFollower: keeps the states of the history valid while texts, tokens and columns change under them: layers and
// heads within range, tokens at the same place of the text, references to columns at the same checkpoint.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/session/history.h"
#include "app/session/pins.h"
#include "app/session/session.h"
#include "app/workbench/work/checkpoint_list.h"
#include "app/workbench/work/live_input.h"

namespace locus::workbench {

class StateFollower {
 public:
  StateFollower(History& history, const CheckpointList& columns, const LiveInput& input)
      : history_(history), columns_(columns), input_(input) {}

  // The state with layer, head, tokens and camera within what the columns have. Unchanged while nothing has run: a
  // restored session keeps its place until its checkpoints are open.
  session::ViewState clamped(session::ViewState state) const;
  // Names the layer or head of a state that some linked column lacks although another has it; empty: none.
  std::string unreachable(const session::ViewState& wanted) const;
  // Carries all states of the history over to the present columns and their tokens, once all of them have run.
  void follow();
  // Forgets the text that the states' tokens belong to: the next run is of another input or of other columns.
  void forget();
  // The present state, its tokens at their place in the text that is being typed.
  session::ViewState state_of_input() const;

 private:
  void follow_columns();

  History& history_;
  const CheckpointList& columns_;
  const LiveInput& input_;
  std::optional<session::TokenAnchor>
      anchor_;  // text and tokens that the states refer to; empty: those of the next run
  std::optional<std::vector<int>> column_ids_;   // columns that the states refer to; empty: those of the next run
  std::weak_ptr<const models::Trace> followed_;  // run that anchor_ belongs to
};

}  // namespace locus::workbench
