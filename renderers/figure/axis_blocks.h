// Blocks of an axis: the strip beside the labels that shows which cells are one picture, and what becomes of the names
// of cells beside it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/range.h"
#include "renderers/figure/figure.h"
#include "renderers/figure/layout.h"
#include "renderers/figure/style.h"
#include "renderers/figure/text_metrics.h"

namespace locus::figure {

// `cells` in order, cut where blocks begin and end.
struct CellRun {
  Range cells;
  bool block = false;
};
std::vector<CellRun> runs_beside_blocks(const Axis& axis, Range cells);

// The cells around `cells`, of no block, as far as the next block on either side.
Range between_blocks(const Axis& axis, Range cells);

// `name` of a cell as it stands beside its block, which has a name of its own: "image 1 0,3" is "0,3" there.
std::string name_beside_block(const Axis& axis, std::int64_t cell, const std::string& name);

// How much room the strip takes across its axis, in canvas units, with the gap before it; 0: there are no blocks.
double blocks_depth(const Axis& axis, const Style& style);

// Puts the strip of the x or the y axis beside place.plot; `edge` is where it begins: its y below the plot, or its x
// left of it.
void place_blocks(const Axis& axis, bool along_x, double edge, const Style& style, const TextMetrics& metrics,
                  PanelLayout& place);

}  // namespace locus::figure
