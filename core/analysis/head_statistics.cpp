#include "core/analysis/head_statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/analysis/row_blocks.h"
#include "core/attention/fused_scores.h"

namespace locus::analysis {

namespace {

// Adds the per-head sum of x (h, R) to `total`.
void add(std::vector<double>& total, const at::Tensor& x) {
  const at::Tensor sums = x.sum(1, false, at::kDouble).cpu();
  for (std::size_t head = 0; head < total.size(); ++head) {
    total[head] += sums.data_ptr<double>()[head];
  }
}

// (h, R) weights of each row's column `row + shift`, 0 where there is none.
at::Tensor diagonal(Range rows, Range columns, const at::Tensor& weights, std::int64_t shift) {
  const at::Tensor column = at::arange(rows.begin, rows.end) + (shift - columns.begin);
  const at::Tensor inside = column.ge(0).logical_and(column.lt(columns.size()));
  const at::Tensor index = column.clamp(0, columns.size() - 1).view({1, -1, 1}).expand({weights.size(0), -1, 1});
  return weights.gather(2, index).squeeze(2) * inside;
}

struct Sums {
  explicit Sums(std::int64_t heads) : entropy(static_cast<std::size_t>(heads)) {
    relative = distance = previous = first = self = entropy;
  }
  std::vector<double> entropy, relative, distance, previous, first, self;
  at::Tensor received;  // (H, T) Σ_i A_ij over the queries i ≥ 1, i ≠ j
};

// The field's layer as 64 × 64 cells in cache; null where it is computed tile by tile.
std::shared_ptr<const attention::FusedScores> fused_of(const attention::ScoreField& field) {
  const auto* const computed = field.source().computed();
  return computed != nullptr ? computed->fused(field.mask()) : nullptr;
}

HeadStatistics statistics_of(const attention::StatisticSums& sums, double queries, bool gates, const SinkKeys& keys) {
  const double mean = sums.gates / sums.cells;
  const double variance = std::max(sums.gate_squares / sums.cells - mean * mean, 0.0);
  return {sums.entropy / queries,
          sums.relative / queries,
          sums.distance / queries,
          sums.previous / queries,
          sums.first / queries,
          sums.self / queries,
          gates ? std::sqrt(variance) : std::numeric_limits<double>::quiet_NaN(),
          keys.largest(sums.received)};
}

Status add_weights(const attention::ScoreField& field, Range heads, Sums& sums, StopToken stop) {
  const std::int64_t length = field.source().length();
  const auto visit = [&](Range rows, Range columns, const at::Tensor& weights) {
    const at::Tensor row = at::arange(rows.begin, rows.end);
    const at::Tensor distance = (row.unsqueeze(1) - at::arange(columns.begin, columns.end)).abs().to(at::kFloat);
    const at::Tensor keys = field.mask().hidden(rows, columns, weights.device()).logical_not().sum(-1);
    const at::Tensor entropy = -at::xlogy(weights, weights).sum(-1);
    add(sums.entropy, entropy);
    add(sums.relative, entropy / keys.to(at::kFloat).log().clamp_min(1e-6));
    add(sums.distance, (weights * distance).sum(-1));
    add(sums.previous, diagonal(rows, columns, weights, -1));
    const at::Tensor self = diagonal(rows, columns, weights, 0);  // (h, R)
    add(sums.self, self);
    sums.received.slice(1, columns.begin, columns.end) += weights.sum(1, false, at::kDouble).cpu();
    const std::int64_t last = std::min(rows.end, sums.received.size(1));
    sums.received.slice(1, rows.begin, last) -= self.slice(1, 0, last - rows.begin).to(at::kCPU, at::kDouble);
    if (columns.begin == 0) {
      add(sums.first, weights.select(2, 0));
    }
  };
  return for_each_row_block(field, attention::Quantity::kWeight, heads, {1, length}, visit, stop);
}

// Standard deviation of the gates of each head; NaN for every head of a field that has none.
Result<std::vector<double>> gate_deviation(const attention::ScoreField& field, Range heads, StopToken stop) {
  const auto count = static_cast<std::size_t>(heads.size());
  std::vector<double> sum(count);
  std::vector<double> squares(count);
  double cells = 0;
  const auto visit = [&](Range /*rows*/, Range /*columns*/, const at::Tensor& gates) {
    const at::Tensor shown = gates.nan_to_num(0.0);
    add(sum, shown.sum(-1));
    add(squares, shown.square().sum(-1));
    cells += gates.select(0, 0).isnan().logical_not().sum().item<double>();
  };
  const Status status = for_each_row_block(field, attention::Quantity::kGate, heads, {}, visit, stop);
  if (!status.ok() && status.error().code == ErrorCode::kUnsupported) {
    return std::vector<double>(count, std::numeric_limits<double>::quiet_NaN());
  }
  LOCUS_CHECK(status);
  std::vector<double> deviation;
  for (std::size_t head = 0; head < count; ++head) {
    const double mean = sum[head] / cells;
    deviation.push_back(std::sqrt(std::max(squares[head] / cells - mean * mean, 0.0)));
  }
  return deviation;
}

}  // namespace

Result<std::vector<HeadStatistics>> head_statistics(const attention::ScoreField& field, StopToken stop) {
  const Range heads{0, field.source().heads()};
  const std::int64_t length = field.source().length();
  if (length < 2) {
    return bad_input("head statistics: expected at least 2 tokens, found " + std::to_string(length));
  }
  const auto queries = static_cast<double>(length - 1);
  const SinkKeys keys(field.mask(), length);
  std::vector<HeadStatistics> statistics;
  if (const auto fused = fused_of(field); fused != nullptr && fused->has(attention::Quantity::kWeight)) {
    LOCUS_TRY(const std::vector<attention::StatisticSums> sums, fused->statistics(stop));
    for (const attention::StatisticSums& head : sums) {
      statistics.push_back(statistics_of(head, queries, fused->has(attention::Quantity::kGate), keys));
    }
    return statistics;
  }
  Sums sums(heads.size());
  sums.received = at::zeros({heads.size(), length}, at::kDouble);
  LOCUS_CHECK(add_weights(field, heads, sums, stop));
  LOCUS_TRY(const std::vector<double> gates, gate_deviation(field, heads, stop));
  for (std::size_t head = 0; head < gates.size(); ++head) {
    statistics.push_back({sums.entropy[head] / queries, sums.relative[head] / queries, sums.distance[head] / queries,
                          sums.previous[head] / queries, sums.first[head] / queries, sums.self[head] / queries,
                          gates[head],
                          keys.largest({sums.received.data_ptr<double>() + static_cast<std::int64_t>(head) * length,
                                        static_cast<std::size_t>(length)})});
  }
  return statistics;
}

Result<std::vector<double>> induction_scores(const attention::ScoreField& field, std::int64_t period, StopToken stop) {
  const std::int64_t length = field.source().length();
  if (period < 2 || period >= length) {
    return bad_input("induction period: expected 2 … " + std::to_string(length - 1) + ", found " +
                     std::to_string(period));
  }
  const Range heads{0, field.source().heads()};
  std::vector<double> scores(static_cast<std::size_t>(heads.size()));
  const auto visit = [&](Range rows, Range columns, const at::Tensor& weights) {
    add(scores, diagonal(rows, columns, weights, 1 - period));
  };
  LOCUS_CHECK(for_each_row_block(field, attention::Quantity::kWeight, heads, {period, length}, visit, stop));
  for (double& score : scores) {
    score /= static_cast<double>(length - period);
  }
  return scores;
}

}  // namespace locus::analysis
