// Reducer: gathers tiles of a map into pixels, each the exact mean or maximum of its visible cells.
#pragma once

#include <cstdint>
#include <vector>

#include "core/attention/attend.h"
#include "core/attention/score_field.h"
#include "core/base/range.h"

namespace locus::attention {

class Reducer {
 public:
  // Takes the rows `band` of the pixels alone.
  Reducer(Pixels rows, Pixels columns, Range band, Reduction reduction);

  // The rows of the map that the band covers.
  Range cells() const { return {rows_.begin(band_.begin), rows_.begin(band_.end)}; }
  // A tile's cells, row-major; each cell of the band is given once.
  void take(const float* values, Range rows, Range columns, const Mask& mask, std::int64_t keys);
  // Writes the band's pixels that had a visible cell; leaves the others as they are.
  void finish(std::vector<float>& pixels) const;

 private:
  // The pixels that tile row `row` meets, cell range by cell range.
  void take_row(const float* values, std::int64_t row, Range columns, Range visible);

  Pixels rows_;
  Pixels columns_;
  Range band_;
  Reduction reduction_;
  std::vector<double> values_;        // sums or maxima
  std::vector<std::int64_t> counts_;  // visible cells
};

}  // namespace locus::attention
