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
  // height ≤ |rows|, width ≤ |columns|.
  Reducer(Range rows, Range columns, std::int64_t height, std::int64_t width, Reduction reduction);

  std::int64_t height() const { return height_; }
  std::int64_t width() const { return width_; }

  // A tile's cells, row-major; each cell of the map is given once.
  void take(const float* values, Range rows, Range columns, const Mask& mask, std::int64_t length);
  // Writes the pixels that had a visible cell; leaves the others as they are.
  void finish(std::vector<float>& pixels) const;

 private:
  // The pixels that tile row `row` meets, cell range by cell range.
  void take_row(const float* values, std::int64_t row, Range columns, Range visible);
  // The last cell + 1 of column pixel `pixel`.
  std::int64_t column_end(std::int64_t pixel) const;

  Range rows_;
  Range columns_;
  std::int64_t height_;
  std::int64_t width_;
  Reduction reduction_;
  std::vector<double> values_;        // sums or maxima
  std::vector<std::int64_t> counts_;  // visible cells
};

}  // namespace locus::attention
