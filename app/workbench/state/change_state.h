// A part of the view's state, changed.
#pragma once

#include "app/workbench/state/studio.h"

namespace locus::workbench {

// The state as it is, but for what `edit` does to it; undo() comes back to what is there now.
template <class Edit>
void change_state(Studio& studio, const Edit& edit) {
  session::ViewState state = studio.state();
  edit(state);
  studio.change(state);
}

}  // namespace locus::workbench
