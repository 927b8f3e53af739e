#include "renderers/figure/style.h"

#include <algorithm>
#include <cmath>

namespace locus::figure {

double Style::aligned(double length) const {
  return pixel > 0 ? std::round(length / pixel) * pixel : length;
}

double Style::line() const {
  const double width = text_size / 14;
  return pixel > 0 ? std::max(pixel, aligned(width)) : width;
}

// The palettes are Okabe and Ito's colours, told apart by colour-blind readers; yellow is left out (invisible on white)
// and the dark theme has lighter blues.
Style Style::light(double text_size, double pixel) {
  Style style;
  style.text_size = text_size;
  style.pixel = pixel;
  style.palette = {0x0072B2FF, 0xD55E00FF, 0x009E73FF, 0xCC79A7FF, 0xE69F00FF, 0x56B4E9FF, 0x7A4FA3FF, 0x4D4D4DFF};
  return style;
}

Style Style::dark(double text_size, double pixel) {
  Style style;
  style.text_size = text_size;
  style.pixel = pixel;
  style.background = 0x1B1D21FF;
  style.plot_background = 0x141619FF;
  style.foreground = 0xE8EAEDFF;
  style.muted = 0xA6ABB2FF;
  style.frame = 0x8A9099FF;
  style.grid = 0x30343AFF;
  style.mask = 0x45484DFF;
  style.palette = {0x56B4E9FF, 0xF28E3CFF, 0x3CC79BFF, 0xE39AC5FF, 0xE6C229FF, 0x4C8FE0FF, 0xB79CE0FF, 0xC9CDD2FF};
  return style;
}

}  // namespace locus::figure
