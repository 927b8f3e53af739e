// From what a session stores of a view to what the view is asked.
#pragma once

#include <vector>

#include "app/session/session.h"
#include "app/views/view.h"

namespace locus::session {

// Everything but sizes, cache, progress and stop.
views::ViewInput view_input(const ViewState& state, std::vector<views::Column> columns, const views::View& view);

}  // namespace locus::session
