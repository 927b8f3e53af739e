// What the parts of ScoreField share.
#pragma once

#include <cstdint>

#include "core/attention/score_field.h"

namespace locus::attention {

// kBadInput for an overview without pixels.
Status check_pixels(std::int64_t height, std::int64_t width);

// What a hidden cell of the region holds.
float hidden_value(const Region& region);

// rows × columns cells or pixels of the region, all hidden.
Field empty_field(const Region& region, std::int64_t rows, std::int64_t columns);
// The rows `band` of those.
Field empty_band(const Region& region, std::int64_t rows, std::int64_t columns, Range band);

}  // namespace locus::attention
