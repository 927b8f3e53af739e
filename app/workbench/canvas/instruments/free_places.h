// Where there is room for an instrument beside what the figure draws.
#pragma once

#include <optional>
#include <vector>

#include "renderers/figure/layout.h"

namespace locus::workbench {

// A rectangle of that size along the canvas's edge, `pad` away from it, that meets none of `taken`: of the corners and
// the middles of the sides the first that is free, below before above and left before right, else the lowest place
// right above, below or beside one of `taken`; empty: none is.
std::optional<figure::Rect> free_place(const figure::Point& size, const figure::Point& canvas, double pad,
                                       const std::vector<figure::Rect>& taken);

// The same, or where there is no room the place, along the edge or in the corner of a large one of `taken`, that covers
// least of them, each counted as a share of itself; on a canvas that is too small the lower right corner.
figure::Rect place_or_corner(const figure::Point& size, const figure::Point& canvas, double pad,
                             const std::vector<figure::Rect>& taken);

}  // namespace locus::workbench
