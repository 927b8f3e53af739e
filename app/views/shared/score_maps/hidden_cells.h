// What hides cells of a score map: the future, a window, a chunk, cut edges; and the edge of a window in the map.
#pragma once

#include "app/views/shared/view.h"

namespace locus::views {

// Whether edits of the column's model hide keys from queries.
bool cuts_edges(const Column& column);

// Says in the map's legend what hides cells beyond those of the future: "not visible: window 5, cut edges"; and gives
// the map the edge of the layer's window or chunk, cell by cell where the map has single cells, else a straight line.
// Nothing for maps that only the future or nothing is hidden in, and for cross-attention.
void say_hidden(const Column& column, std::int64_t layer, figure::HeatMap& map);

}  // namespace locus::views
