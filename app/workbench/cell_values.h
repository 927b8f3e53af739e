// Every value of one cell of a score map, for the inspector.
#pragma once

#include <vector>

#include "app/views/view.h"
#include "app/workbench/studio.h"

namespace locus::workbench {

// One Cell a column whose run has this query and key; empty for the others. Values that the encoding does not have are
// left empty. Errors: kCancelled.
// The input says which columns and which head of each.
Result<std::vector<Cell>> cell_values(const views::ViewInput& input, std::int64_t query, std::int64_t key,
                                      const StopToken& stop);

}  // namespace locus::workbench
