// From what a session stores of a view to what the view is asked.
#pragma once

#include <vector>

#include "app/session/session.h"
#include "app/views/shared/view.h"

namespace locus::session {

bool any_has_side(const std::vector<views::Column>& columns, models::Side side);

// The columns with that side of their runs instead, where they are encoder–decoders'; others as they are.
std::vector<views::Column> on_side(std::vector<views::Column> columns, models::Side side);

// Everything but sizes, cache, progress and stop; its columns are on the state's side.
views::ViewInput view_input(const ViewState& state, std::vector<views::Column> columns, const views::View& view);

}  // namespace locus::session
