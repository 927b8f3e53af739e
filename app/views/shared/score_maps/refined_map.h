// RefinedMap: a map too large to reduce at once. It appears from sampled cells; then bands of its rows become exact,
// step by step, first where the user looks. What is finished stays in the cache: a step that is stopped, or another
// place and back, loses nothing but the band under way.
//
// Colours are chosen by the sample until every row is exact and by the exact values from then on: the range changes
// once, and never while bands come in.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/views/shared/view.h"
#include "core/base/range.h"

namespace locus::views {

struct RefinedMap {
  FieldPointer field;  // `base` with the rows `exact` replaced
  FieldPointer base;   // the sample; null: the field was never sampled
  Range exact;         // rows of the field
  MeasureKey key;      // in the cache, where there is a base

  bool complete() const { return base == nullptr || exact.size() == field->rows; }
};
// One that never was anything but exact.
inline Result<RefinedMap> exact_map(Result<FieldPointer> made) {
  LOCUS_TRY(auto field, std::move(made));
  return RefinedMap{std::move(field), nullptr, {}, {}};
}
inline std::size_t cached_bytes(const RefinedMap& map) {
  return map.field->values.size() * sizeof(float) * (map.field == map.base ? 1 : 2);
}

// How a map of `rows` rows becomes exact.
struct Refinement {
  MeasureKey key;  // what it depends on besides the trace
  std::int64_t rows = 0;
  std::int64_t band = 1;                         // rows made exact at once; the last band may be shorter
  Range first;                                   // rows that come before the others
  std::function<Result<Field>()> sample;         // of all rows
  std::function<Status(Range, Field&)> replace;  // writes those rows, exact
};

// The map as the cache has it, sampled where it has none, and after input.step_ms of it more exact: one band at least
// unless that is 0. Errors: what `sample` and `replace` return, named after the column; kCancelled.
Result<RefinedMap> refine(const ViewInput& input, const Column& column, const Refinement& how);

// The band to follow: within `first` from its beginning on, then below it, then above it. The exact rows are one range
// throughout.
Range next_band(const Refinement& how, Range exact);

// A map of a column.
struct MapOfColumn {
  const Column& column;
  const RefinedMap& map;
};
// first − second: exact where both are, sampled where one is. A cell that one of them alone masks counts as 0 there
// with `masked_is_zero`, as a weight does; what both mask stays masked. kUnsupported when the sizes differ.
Result<RefinedMap> difference(const ViewInput& input, const MapOfColumn& first, const MapOfColumn& second,
                              bool masked_is_zero);

// The values by which colours are chosen: the samples until every map is exact.
Fields colored_by(std::span<const RefinedMap> maps);

// How many cells of the map a value of colored_by() is the largest of, where a cell of the field stands for `share`.
double largest_of(const RefinedMap& map, Reduction reduction, double share);

// The map as a figure has it.
figure::HeatMap heat_map(const ViewInput& input, const RefinedMap& map, const figure::ColorScale& scale);

// "sampled", "37 % exact"; empty when all rows of all maps are.
std::string exactness(std::span<const RefinedMap> maps);

// Rows of the figure's maps that wait to become exact.
std::int64_t rows_to_refine(const figure::Figure& figure);

}  // namespace locus::views
