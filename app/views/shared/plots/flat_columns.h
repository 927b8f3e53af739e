// Columns that a colour range shared with others flattens.
#pragma once

#include "app/views/shared/view.h"

namespace locus::views {

// Says under the first panel of each column whose values take less than a tenth of a colour range that the columns
// share how much they take: "values take 4 % of the shared colour range". Where a column has its own range it says
// nothing.
void note_flat_columns(const ViewInput& input, figure::Figure& figure);

}  // namespace locus::views
