#include "core/base/order.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace locus {

namespace {

// Sorts the numbers, and counts the pairs that it turns round.
double sort_and_count(std::span<double> numbers, std::vector<double>& merged) {
  if (numbers.size() < 2) {
    return 0;
  }
  const std::size_t half = numbers.size() / 2;
  const std::span<double> left = numbers.first(half);
  const std::span<double> right = numbers.subspan(half);
  double count = sort_and_count(left, merged) + sort_and_count(right, merged);
  merged.clear();
  std::size_t l = 0;
  for (const double value : right) {
    for (; l < left.size() && left[l] <= value; ++l) {
      merged.push_back(left[l]);
    }
    count += static_cast<double>(left.size() - l);
    merged.push_back(value);
  }
  merged.insert(merged.end(), left.begin() + static_cast<std::ptrdiff_t>(l), left.end());
  std::copy(merged.begin(), merged.end(), numbers.begin());
  return count;
}

}  // namespace

double reversed_pairs(std::span<const double> numbers) {
  if (numbers.size() < 2) {
    return 0;
  }
  std::vector<double> sorted(numbers.begin(), numbers.end());
  std::vector<double> merged;
  merged.reserve(sorted.size());
  const auto n = static_cast<double>(numbers.size());
  return sort_and_count(sorted, merged) / (n * (n - 1) / 2);
}

}  // namespace locus
