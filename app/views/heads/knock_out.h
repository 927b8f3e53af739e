// What the cells of the view `knock-out` stand for, for those that make it a column.
#pragma once

#include <cstdint>
#include <optional>

#include "app/views/view.h"
#include "models/api/edits.h"

namespace locus::views {

// What the view does to that head; empty for other views, and for no single head.
std::optional<models::Edit> edit_of_cell(const View& view, const ViewInput& input, std::int64_t layer,
                                         std::int64_t head);

}  // namespace locus::views
