// Arithmetic of the colour bar: dragging its ends, turning the wheel, and the histogram of its values.
#pragma once

#include <string>
#include <vector>

#include "app/views/shared/parameters.h"
#include "core/base/field.h"
#include "renderers/figure/color_scale.h"

namespace locus::workbench {

// The value at `share` of the bar: 0 is the low end, 1 the high end; extrapolates beyond them.
float value_at(const figure::ColorScale& scale, double share);

// The range after one end was dragged to a share of the previous bar; low stays below high. For signed values both ends
// move, to ±v.
enum class BarEnd { kLow, kHigh };
views::ScaleOptions pulled(views::ScaleOptions options, const figure::ColorScale& scale, BarEnd end, double share);

// The scale after turns of the wheel: another gamma if the scale has one, else a range from the data that leaves out
// more or fewer of the extreme values.
views::ScaleOptions turned(views::ScaleOptions options, double turns);

// The scale with the range of the data and the default gamma.
views::ScaleOptions automatic(views::ScaleOptions options);

// Describes a scale: "viridis, 0 to 0.82, gamma 0.5".
std::string words_of(const figure::ColorScale& scale);

// Histogram of the values (a sample of some ten thousand) over `bins` equal parts of the bar, as shares of the largest
// bin; empty: there are no values.
std::vector<float> histogram_of(const Field& field, const figure::ColorScale& scale, int bins);

}  // namespace locus::workbench
