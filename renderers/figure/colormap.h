// Colormaps: what t in [0, 1] looks like. 256 colours each, linear in between; the fragment shader reads the same
// tables.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "renderers/figure/color_scale.h"

namespace locus::figure {

// A colour as 0xRRGGBBAA.
using Color = std::uint32_t;

struct Colormap {
  std::string name;
  bool diverging = false;                   // the middle is neutral: for signed values, with low = −high
  std::array<std::uint32_t, 256> colors{};  // 0xRRGGBB, entry n at t = n/255
};

// viridis, magma, cividis, gray (sequential), vik, RdBu (diverging; vik is blue below and red above, RdBu red below).
const std::vector<Colormap>& colormaps();

// The index in colormaps() of `name`; 0 (viridis) when there is none of that name.
std::size_t colormap_index(std::string_view name);

// The opaque colour at t, linear between table entries, rounded to 8 bits.
Color color_at(const Colormap& map, float t);

// The colour of a value: normalised(), then the colormap; mask_color for NaN.
Color color_of(const ColorScale& scale, float value);

// The opaque colour of a value that is marked on a page: the ground itself at nothing, the low end of the scale, and
// `full` at its high end; of diverging colormaps the ground in the middle and their own colours at the ends. mask_color
// for NaN.
Color tint_of(const ColorScale& scale, float value, Color ground, Color full);

// `color` with its opacity multiplied by `opacity` in [0, 1].
Color faded(Color color, double opacity);

// The colour over an opaque background.
Color blended(Color over, Color background);

// Whether dark text reads better than light text on this colour (relative luminance of WCAG 2).
bool is_light(Color color);

}  // namespace locus::figure
