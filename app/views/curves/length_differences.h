// Curves of `length-curve` against each other: of the same text, stretch by stretch.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "app/views/shared/view.h"
#include "models/api/analyses.h"

namespace locus::views {

struct LengthPoints : std::vector<models::LengthPoint> {};
// The size in the cache, in bytes.
std::size_t cached_bytes(const LengthPoints& points);
// One more text's points, of the same lengths: both together. A length that one of them has not, both have not.
void add_text(const std::vector<models::LengthPoint>& text, LengthPoints& points);

// One a column, of the same text.
using LengthCurves = std::vector<std::shared_ptr<const LengthPoints>>;

// The point of a curve at a length; null where it has none.
const models::LengthPoint* find_point(const LengthPoints& points, std::int64_t length);

// Bits per byte of the columns `group` less those of `first` at a length, each the mean of its columns, which differ in
// their seed alone; with the 95 % interval over the stretches of the text. NaN where one of them has no number there.
analysis::Difference length_difference(const LengthCurves& list, const std::vector<std::size_t>& group,
                                       const std::vector<std::size_t>& first, std::int64_t length);

// A curve per training with its interval as a band: what it needs more than the first, which is the line at 0. None
// where nothing can be compared. `lengths` is the axis of the curves themselves.
std::optional<figure::Panel> difference_panel(const ViewInput& input, const LengthCurves& list,
                                              const figure::Axis& lengths);

}  // namespace locus::views
