// Field: a host matrix of float32 with the meaning of its axes. What analyses return, figures draw and exports write.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace locus {

// One axis: cell n covers [first + n·step, first + (n+1)·step) in `unit`.
struct FieldAxis {
  std::string name;  // "query", "key", "layer", "distance"
  std::string unit;  // "token", "layer", ""
  double first = 0;
  double step = 1;
};

// (rows, columns) float32, row-major. Cells without a value (masked, undefined) are NaN.
struct Field {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<float> values;
  FieldAxis row_axis;
  FieldAxis column_axis;
  std::string quantity;  // of a cell: "attention weight", "logit"
  std::string unit;

  float& at(std::int64_t row, std::int64_t column) { return values[static_cast<std::size_t>(row * columns + column)]; }
  float at(std::int64_t row, std::int64_t column) const {
    return values[static_cast<std::size_t>(row * columns + column)];
  }

  static Field zeros(std::int64_t rows, std::int64_t columns) {
    Field field;
    field.rows = rows;
    field.columns = columns;
    field.values.assign(static_cast<std::size_t>(rows * columns), 0.0F);
    return field;
  }
};

// The smallest and largest finite value; {0, 0} when there is none.
struct ValueRange {
  float low = 0;
  float high = 0;
};
inline ValueRange finite_range(const Field& field) {
  ValueRange range;
  bool any = false;
  for (const float value : field.values) {
    if (!std::isfinite(value)) {
      continue;
    }
    range.low = any ? std::min(range.low, value) : value;
    range.high = any ? std::max(range.high, value) : value;
    any = true;
  }
  return range;
}

}  // namespace locus
