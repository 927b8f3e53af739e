// What the cells of the view `knock-out` stand for, for those that make it a column.
#pragma once

#include <cstdint>
#include <string>

#include "app/views/view.h"

namespace locus::views {

// "head 3.1 zero": the edit of that head, in models/edits' short form; empty for other views, and for no single head.
std::string edit_of_cell(const View& view, const ViewInput& input, std::int64_t layer, std::int64_t head);

}  // namespace locus::views
