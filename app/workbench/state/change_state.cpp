#include "app/workbench/state/change_state.h"

#include "app/figures/view_input.h"
#include "app/session/pins.h"

namespace locus::workbench {

bool is_pinned(const Studio& studio, const views::Token& query, const views::Token& key) {
  session::ViewState there = studio.state();
  const auto columns = session::on_side(studio.checkpoints().view_columns(there.side), there.side);
  there.query = query;
  there.key = key;
  if (!columns.empty()) {
    session::resolve_tokens(there, *columns.front().trace);
  }
  return there.query.chosen() && there.query == studio.state().query && there.key == studio.state().key;
}

}  // namespace locus::workbench
