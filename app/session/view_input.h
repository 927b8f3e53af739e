// From what a session stores of a view to what the view is asked.
#pragma once

#include <vector>

#include "app/session/session.h"
#include "app/views/view.h"

namespace locus::workbench {

// Everything but sizes, cache, progress and stop.
views::ViewInput view_input(const ViewState& state, std::vector<views::Column> columns, const views::View& view);

// The name, or the next of "name (2)", "name (3)" … that no other column has.
std::string unique_name(const std::string& name, const std::vector<views::Column>& others);

}  // namespace locus::workbench
