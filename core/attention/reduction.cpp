#include "core/attention/reduction.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <limits>

namespace locus::attention {

namespace {

// Eight running values, so that the loop needs no order and becomes vector instructions.
constexpr std::int64_t kRunning = 8;
// The value of a cell that is masked without being hidden by the mask: it counts in no pixel.
constexpr float kMasked = -std::numeric_limits<float>::infinity();

float sum_of(const float* begin, const float* end) {
  std::array<float, kRunning> lanes{};
  for (; end - begin >= kRunning; begin += kRunning) {
    for (std::int64_t n = 0; n < kRunning; ++n) {
      lanes[static_cast<std::size_t>(n)] += begin[n];
    }
  }
  float sum = 0;
  for (; begin != end; ++begin) {
    sum += *begin;
  }
  for (const float lane : lanes) {
    sum += lane;
  }
  return sum;
}

float maximum_of(const float* begin, const float* end) {
  std::array<float, kRunning> lanes{};
  lanes.fill(-std::numeric_limits<float>::infinity());
  for (; end - begin >= kRunning; begin += kRunning) {
    for (std::int64_t n = 0; n < kRunning; ++n) {
      float& lane = lanes[static_cast<std::size_t>(n)];
      lane = begin[n] > lane ? begin[n] : lane;
    }
  }
  float maximum = *std::max_element(lanes.begin(), lanes.end());
  for (; begin != end; ++begin) {
    maximum = std::max(maximum, *begin);
  }
  return maximum;
}

}  // namespace

Reducer::Reducer(Pixels rows, Pixels columns, Range band, Reduction reduction)
    : rows_(rows),
      columns_(columns),
      band_(band),
      reduction_(reduction),
      values_(static_cast<std::size_t>(band.size() * columns.count),
              reduction == Reduction::kMax ? -std::numeric_limits<double>::infinity() : 0.0),
      counts_(values_.size(), 0) {}

void Reducer::take(const float* values, Range rows, Range columns, const Mask& mask, std::int64_t keys) {
  // One task a pixel row, so that no two threads write the same pixel.
  at::parallel_for(rows_.of(rows.begin), rows_.of(rows.end - 1) + 1, 1, [&](std::int64_t begin, std::int64_t end) {
    const Range own = Range{rows_.begin(begin), rows_.begin(end)}.clamped(rows);
    for (std::int64_t row = own.begin; row < own.end; ++row) {
      take_row(values + (row - rows.begin) * columns.size(), row, columns,
               mask.columns({row, row + 1}, keys).clamped(columns));
    }
  });
}

void Reducer::take_row(const float* values, std::int64_t row, Range columns, Range visible) {
  if (visible.empty()) {
    return;
  }
  const std::int64_t base = (rows_.of(row) - band_.begin) * columns_.count;
  std::int64_t pixel = columns_.of(visible.begin);
  for (std::int64_t begin = visible.begin; begin < visible.end; ++pixel) {
    const std::int64_t end = std::min(columns_.begin(pixel + 1), visible.end);
    const float* from = values + (begin - columns.begin);
    const float* to = values + (end - columns.begin);
    const auto index = static_cast<std::size_t>(base + pixel);
    if (reduction_ == Reduction::kMax) {
      values_[index] = std::max(values_[index], static_cast<double>(maximum_of(from, to)));
      counts_[index] += end - begin;
    } else if (const float sum = sum_of(from, to); sum != kMasked) {
      values_[index] += sum;
      counts_[index] += end - begin;
    } else {
      for (; from != to; ++from) {
        values_[index] += *from == kMasked ? 0 : *from;
        counts_[index] += *from == kMasked ? 0 : 1;
      }
    }
    begin = end;
  }
}

void Reducer::finish(std::vector<float>& pixels) const {
  for (std::size_t n = 0; n < values_.size(); ++n) {
    if (counts_[n] > 0 && values_[n] != static_cast<double>(kMasked)) {
      const double divisor = reduction_ == Reduction::kMean ? static_cast<double>(counts_[n]) : 1.0;
      pixels[n] = static_cast<float>(values_[n] / divisor);
    }
  }
}

}  // namespace locus::attention
