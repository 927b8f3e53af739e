// Helpers for the view's state.
#pragma once

#include "app/workbench/state/studio.h"

namespace locus::workbench {

// Applies `edit` to a copy of the state and shows it, as a step for undo().
template <class Edit>
void change_state(Studio& studio, const Edit& edit) {
  session::ViewState state = studio.state();
  edit(state);
  studio.change(state);
}

// Whether that cell is the pinned one; without a key, whether the query is pinned alone.
bool is_pinned(const Studio& studio, const views::Token& query, const views::Token& key = views::kNone);

}  // namespace locus::workbench
