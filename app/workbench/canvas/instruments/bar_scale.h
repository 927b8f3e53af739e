// What is done to a colour bar, as numbers: drags of its ends, turns of the wheel, and how its values are spread.
#pragma once

#include <string>
#include <vector>

#include "app/views/shared/parameters.h"
#include "core/base/field.h"
#include "renderers/figure/color_scale.h"

namespace locus::workbench {

// The value whose colour stands at `share` of the bar, from 0 at its low end to 1; beyond the ends as the scale goes
// on.
float value_at(const figure::ColorScale& scale, double share);

// The ends of a range after one of them was pulled to that share of the bar as it was; low stays below high. Of signed
// values both ends move, to ±v.
enum class BarEnd { kLow, kHigh };
views::ScaleOptions pulled(views::ScaleOptions options, const figure::ColorScale& scale, BarEnd end, double share);

// After so many turns of the wheel: gamma where that is the scale, else a range from the data that leaves out more of
// the extreme values, or fewer.
views::ScaleOptions turned(views::ScaleOptions options, double turns);

// A range and a gamma from the data and the defaults.
views::ScaleOptions automatic(views::ScaleOptions options);

// "viridis, 0 to 0.82, gamma 0.5".
std::string words_of(const figure::ColorScale& scale);

// How many of the values, at most some ten thousand of them, have their colour in each of `bins` parts of the bar, as
// shares of the fullest; none where there is no value.
std::vector<float> histogram_of(const Field& field, const figure::ColorScale& scale, int bins);

}  // namespace locus::workbench
