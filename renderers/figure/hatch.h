// Hatching: diagonal lines over the cells of a map that a mask hides, so that they are no value of the colour scale.
#pragma once

#include <vector>

#include "renderers/figure/scene.h"

namespace locus::figure {

// The hatching of cells of that colour; none where the colour lets everything through.
Hatch hatch_of(Color mask, const Style& style);
// The lines on pixels, as the fragment shader draws them: `period` and `width` are along an axis, and whole numbers of
// pixels apart.
struct PixelHatch {
  double period = 1;
  double width = 0;  // 0: no lines

  // Whether the pixel with that centre is on a line.
  bool on_line(double x, double y) const;
};
PixelHatch pixel_hatch(const Hatch& hatch, double pixels_per_unit);

// The lines x + y = n · period over a rectangle.
std::vector<LineMark> hatch_lines(const Rect& area, const Hatch& hatch);
// The same over the cells of a map without a value, within `area`. Their ends lie on the cells' edges to a tenth of the
// period.
std::vector<LineMark> hatch_lines(const MapMark& map, const Rect& area);

}  // namespace locus::figure
