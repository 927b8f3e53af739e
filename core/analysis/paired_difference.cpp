#include "core/analysis/paired_difference.h"

#include <cmath>

#include "core/analysis/expected_range.h"
#include "core/base/numbers.h"

namespace locus::analysis {

namespace {

// The sums over all parts.
Part total_of(const std::vector<Part>& parts) {
  Part total;
  for (const Part& part : parts) {
    total.sum += part.sum;
    total.count += part.count;
  }
  return total;
}

// The addend of part `part` to the ratio of `total`, to first order.
double residual(const Part& part, const Part& total) {
  return (part.sum - total.sum / total.count * part.count) / total.count;
}

}  // namespace

Difference paired_difference(const std::vector<Part>& first, const std::vector<Part>& second) {
  if (first.empty() || first.size() != second.size()) {
    return {kNaN, kNaN, kNaN};
  }
  const Part one = total_of(first);
  const Part other = total_of(second);
  const double value = one.sum / one.count - other.sum / other.count;
  if (first.size() < 2) {
    return {value, kNaN, kNaN};
  }
  double squares = 0;
  for (std::size_t n = 0; n < first.size(); ++n) {
    squares += std::pow(residual(first[n], one) - residual(second[n], other), 2);
  }
  const auto parts = static_cast<double>(first.size());
  const double reach =
      t_quantile(static_cast<std::int64_t>(first.size()) - 1) * std::sqrt(parts / (parts - 1) * squares);
  return {value, value - reach, value + reach};
}

}  // namespace locus::analysis
