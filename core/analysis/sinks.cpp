#include "core/analysis/sinks.h"

#include <algorithm>

#include "core/attention/mask.h"

namespace locus::analysis {

namespace {

constexpr double kLeastQueries = 16;
constexpr double kLeastShare = 0.25;  // of the queries that see the key that most see

}  // namespace

SinkKeys::SinkKeys(const attention::Mask& mask, std::int64_t length) : queries_(static_cast<std::size_t>(length)) {
  std::vector<double> change(static_cast<std::size_t>(length) + 1);  // from each key to the next
  for (std::int64_t row = 1; row < length; ++row) {
    const Range seen = mask.columns({row, row + 1}, length);
    change[static_cast<std::size_t>(seen.begin)] += 1;
    change[static_cast<std::size_t>(seen.end)] -= 1;
    queries_[static_cast<std::size_t>(row)] -= seen.contains(row) ? 1 : 0;
    for (std::int64_t column = seen.begin; column < (mask.scattered() ? seen.end : seen.begin); ++column) {
      queries_[static_cast<std::size_t>(column)] -= mask.blocks->same(row, column) ? 0 : 1;
    }
  }
  double seeing = 0;
  for (std::size_t key = 0; key < queries_.size(); ++key) {
    seeing += change[key];
    queries_[key] += seeing;
  }
  const double most = queries_.empty() ? 0 : *std::ranges::max_element(queries_);
  for (double& queries : queries_) {
    queries = queries < std::max(kLeastQueries, kLeastShare * most) ? 0 : queries;
  }
}

Sink SinkKeys::largest(std::span<const double> received) const {
  Sink sink;
  for (std::size_t key = 0; key < queries_.size(); ++key) {
    const double weight = queries_[key] > 0 ? received[key] / queries_[key] : kNaN;
    if (weight > sink.weight || (sink.key < 0 && weight >= 0)) {
      sink = {static_cast<std::int64_t>(key), weight};
    }
  }
  return sink;
}

}  // namespace locus::analysis
