// The quantity of a score cell, and the pixels that cells are reduced to; no ATen, so that headers without tensors can name
// them.
#pragma once

#include <cstdint>

#include "core/base/quantity.h"
#include "core/base/range.h"
#include "core/base/reduction.h"

namespace locus::attention {

using locus::kMeanHead;
using locus::Quantity;

// Pixel p of `count` covers the cells ⌊p·size/count⌋ … ⌊(p+1)·size/count⌋ − 1 of a range; count ≤ size.
struct Pixels {
  Range cells;
  std::int64_t count = 1;

  std::int64_t begin(std::int64_t pixel) const { return cells.begin + pixel * cells.size() / count; }
  // The pixel that covers a cell.
  std::int64_t of(std::int64_t cell) const { return ((cell - cells.begin + 1) * count - 1) / cells.size(); }
};

}  // namespace locus::attention
