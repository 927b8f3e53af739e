#include "core/position/shared/positions.h"

#include <algorithm>

namespace locus::position {

Positions Positions::sequence(std::int64_t length, double start) {
  return {at::arange(length, at::kDouble) + start, 0, 0};
}

Positions Positions::grid(std::int64_t rows, std::int64_t columns, std::int64_t prefix, std::int64_t suffix) {
  const at::Tensor index = at::arange(rows * columns, at::kLong);
  const at::Tensor row = at::floor_divide(index, columns);
  const at::Tensor patches = at::stack({row, index - row * columns}, 1).to(at::kDouble);
  return {at::cat({at::zeros({prefix, 2}, at::kDouble), patches, at::zeros({suffix, 2}, at::kDouble)}, 0), prefix,
          suffix};
}

Positions Positions::slice(Range range) const {
  const std::int64_t left = std::clamp(prefix - range.begin, std::int64_t{0}, range.size());
  const std::int64_t right = std::clamp(range.end - (size() - suffix), std::int64_t{0}, range.size());
  return {ids.slice(0, range.begin, range.end), left, right};
}

}  // namespace locus::position
