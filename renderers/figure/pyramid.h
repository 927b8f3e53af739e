// Pyramid: a Field at halved resolutions, so that a pixel covering many cells shows their maximum or mean and no thin
// line is lost. The fragment shader samples the same levels by the same rule as sample().
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "renderers/figure/figure.h"

namespace locus::figure {

// A rectangle of a Field's cells.
struct CellRect {
  std::int64_t row = 0;
  std::int64_t column = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

struct PyramidLevel {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<float> values;  // row-major
};

class Pyramid {
 public:
  static constexpr int kMaxLevels = 14;  // beside the cells themselves
  static constexpr int kMaxTaps = 16;    // samples along one axis of a pixel

  // The levels above `part` of the field. Level n has max(1, floor(size / 2^n)) cells; its last also covers what is
  // left over. Cells without a value do not count; where all are without, neither has the level's cell. The mean is of
  // the level below. At most `levels` levels, ending early at 1 × 1.
  Pyramid(std::shared_ptr<const Field> field, const CellRect& part, Reduction reduction, int levels = kMaxLevels);

  const CellRect& part() const { return part_; }
  // Levels 1 to n; level 0 is the field itself.
  const std::vector<PyramidLevel>& levels() const { return levels_; }

  // The value of a pixel centred at (row, column) of the part, in cells, that is rows_per_pixel × columns_per_pixel
  // large. One cell when the pixel is no larger than a cell; else level floor(log2(smaller side)), one sample a level's
  // cell along each axis, reduced.
  float sample(double row, double column, double rows_per_pixel, double columns_per_pixel) const;

 private:
  float at(int level, std::int64_t row, std::int64_t column) const;

  std::shared_ptr<const Field> field_;
  CellRect part_;
  Reduction reduction_;
  std::vector<PyramidLevel> levels_;
};

// How a pixel of rows_per_pixel × columns_per_pixel cells is sampled, the same for every pixel of a map: the level, and
// how many of its cells along each axis.
struct Sampling {
  int level = 0;
  int row_taps = 1;
  int column_taps = 1;
};
Sampling sampling_of(double rows_per_pixel, double columns_per_pixel, int levels);

// How many cells of `whole` lie in a level.
std::int64_t level_size(std::int64_t whole, int level);

}  // namespace locus::figure
