// Finds room for an instrument beside what the figure draws.
#pragma once

#include <optional>
#include <vector>

#include "renderers/figure/layout.h"

namespace locus::workbench {

// A rectangle of that size at distance `pad` from the canvas's edge that overlaps none of `taken`: the first free one
// of the corners and the middles of the sides (lower before upper, left before right), else the lowest place directly
// above, below or beside one of `taken`. Empty: there is none.
std::optional<figure::Rect> free_place(const figure::Point& size, const figure::Point& canvas, double pad,
                                       const std::vector<figure::Rect>& taken);

// The same, but if there is no room the place at the edge, or in a corner of a large one of `taken`, that covers the
// smallest share of them; the lower right corner if the canvas is too small.
figure::Rect place_or_corner(const figure::Point& size, const figure::Point& canvas, double pad,
                             const std::vector<figure::Rect>& taken);

}  // namespace locus::workbench
