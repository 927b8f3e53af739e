#include "core/base/field.h"

#include <algorithm>
#include <cmath>

namespace locus {

ValueRange finite_range(const Field& field) {
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
