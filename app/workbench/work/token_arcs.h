// TokenArcs: what one token reads in each column, and what reads it, as weights on the tokens of a strip; and which of
// them are drawn as arcs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "app/views/shared/view.h"
#include "core/base/range.h"
#include "core/base/result.h"

namespace locus::workbench {

// Weights of one column on the tokens of the strip's column. Cells that are not visible have none.
struct ArcRow {
  std::size_t column = 0;  // of the input
  bool reads = true;       // false: weights with which other tokens read this one
  std::int64_t first = 0;  // the token of the first weight
  std::vector<double> weights;
};

// The rows of a token of the strip's column: what it reads in every column, and what reads it in the strip's own among
// the tokens `seen`. Heads are those that the columns show, or the mean of heads. Columns that have no such map, or
// nothing for the token, are left out. Errors: kCancelled.
Result<std::vector<ArcRow>> arc_rows(const views::ViewInput& input, std::size_t strip, std::int64_t token,
                                     const Range& seen, const StopToken& stop);

struct Arc {
  std::int64_t token = 0;  // the other end
  double weight = 0;
};
// The arcs that are drawn of a row: at most `most`, the largest first, between tokens that are seen, of one percent or
// more; and the part of the row's weight that they hold.
struct ChosenArcs {
  std::vector<Arc> arcs;
  double held = 0;
};
ChosenArcs chosen_arcs(const ArcRow& row, std::size_t most, const std::function<bool(std::int64_t token)>& is_seen);

// "12 arcs hold 93 %"; of several columns, in their order, "12 arcs hold 93 %; 9 arcs hold 97 %". Empty: no row reads.
std::string arcs_text(const std::vector<ArcRow>& rows, const std::vector<ChosenArcs>& chosen);

}  // namespace locus::workbench
