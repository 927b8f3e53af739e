// Points of a panel, and the dots of its curves, as marks.
#pragma once

#include "renderers/figure/layer_marks.h"

namespace locus::figure {

// The faint ones first, each with its cross below it, its disc or ring, and its name above all of them.
void add_points(const Points& points, const PanelLayout& place, const Style& style, MarkList& marks);

// The dots of a curve that has some.
void add_dots(const Curve& curve, Color color, const PanelLayout& place, const Style& style, MarkList& marks);

}  // namespace locus::figure
