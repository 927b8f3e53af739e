#include "renderers/figure/pyramid.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace locus::figure {
namespace {

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

// The reduction of values, NaN being none.
class Reducer {
 public:
  explicit Reducer(Reduction reduction) : max_(reduction == Reduction::kMax) {}

  void add(float value) {
    if (std::isnan(value)) {
      return;
    }
    result_ = max_ ? (count_ == 0 ? value : std::max(result_, value)) : result_ + value;
    ++count_;
  }
  float result() const { return count_ == 0 ? kNone : (max_ ? result_ : result_ / static_cast<float>(count_)); }

 private:
  bool max_;
  float result_ = 0;
  int count_ = 0;
};

struct View {
  const float* values;
  std::int64_t stride;
  std::int64_t rows;
  std::int64_t columns;
};

// The pair of cells below cell n of a level of `count`, three below the last where one is left over.
std::int64_t end_below(std::int64_t n, std::int64_t count, std::int64_t below) {
  return n + 1 == count ? below : std::min(2 * n + 2, below);
}

float reduce_block(const View& below, std::int64_t row, std::int64_t row_end, std::int64_t column,
                   std::int64_t column_end, Reduction reduction) {
  Reducer reducer(reduction);
  for (std::int64_t r = row; r < row_end; ++r) {
    for (std::int64_t c = column; c < column_end; ++c) {
      reducer.add(below.values[r * below.stride + c]);
    }
  }
  return reducer.result();
}

// Two whole rows of pairs: what nearly all of a level is made of, without a branch.
void reduce_pairs(const float* upper, const float* lower, std::int64_t count, Reduction reduction, float* out) {
  for (std::int64_t c = 0; c < count; ++c) {
    const float values[4] = {upper[2 * c], upper[2 * c + 1], lower[2 * c], lower[2 * c + 1]};
    float largest = -std::numeric_limits<float>::infinity();
    float sum = 0;
    float valid = 0;
    for (const float value : values) {
      const bool is_value = value == value;
      largest = is_value && value > largest ? value : largest;
      sum += is_value ? value : 0.0F;
      valid += is_value ? 1.0F : 0.0F;
    }
    out[c] = valid > 0 ? (reduction == Reduction::kMax ? largest : sum / valid) : kNone;
  }
}

PyramidLevel halved(const View& below, Reduction reduction) {
  PyramidLevel level{std::max<std::int64_t>(1, below.rows / 2), std::max<std::int64_t>(1, below.columns / 2), {}};
  level.values.resize(static_cast<std::size_t>(level.rows * level.columns));
  for (std::int64_t r = 0; r < level.rows; ++r) {
    const std::int64_t row_end = end_below(r, level.rows, below.rows);
    float* out = &level.values[static_cast<std::size_t>(r * level.columns)];
    const bool whole = row_end - 2 * r == 2;
    const std::int64_t pairs = whole ? std::max<std::int64_t>(0, level.columns - 1) : 0;
    if (pairs > 0) {
      const float* upper = below.values + 2 * r * below.stride;
      reduce_pairs(upper, upper + below.stride, pairs, reduction, out);
    }
    for (std::int64_t c = pairs; c < level.columns; ++c) {
      out[c] = reduce_block(below, 2 * r, row_end, 2 * c, end_below(c, level.columns, below.columns), reduction);
    }
  }
  return level;
}

}  // namespace

std::int64_t level_size(std::int64_t whole, int level) {
  return std::max<std::int64_t>(1, whole >> level);
}

Sampling sampling_of(double rows_per_pixel, double columns_per_pixel, int levels) {
  const double least = std::max(1.0, std::min(rows_per_pixel, columns_per_pixel));
  const double most = std::max(1.0, std::max(rows_per_pixel, columns_per_pixel));
  const double wanted =
      std::max(std::floor(std::log2(least)), std::ceil(std::log2(most / static_cast<double>(Pyramid::kMaxTaps))));
  Sampling sampling;
  sampling.level = std::clamp(static_cast<int>(wanted), 0, levels);
  const double cell = std::ldexp(1.0, sampling.level);
  const auto taps = [&](double extent) {
    return std::clamp(static_cast<int>(std::ceil(extent / cell - 1e-4)), 1, Pyramid::kMaxTaps);
  };
  sampling.row_taps = taps(rows_per_pixel);
  sampling.column_taps = taps(columns_per_pixel);
  return sampling;
}

Pyramid::Pyramid(std::shared_ptr<const Field> field, const CellRect& part, Reduction reduction, int levels)
    : field_(std::move(field)), part_(part), reduction_(reduction) {
  View below{field_->values.data() + part_.row * field_->columns + part_.column, field_->columns, part_.rows,
             part_.columns};
  while (static_cast<int>(levels_.size()) < levels && (below.rows > 1 || below.columns > 1)) {
    levels_.push_back(halved(below, reduction_));
    const PyramidLevel& level = levels_.back();
    below = {level.values.data(), level.columns, level.rows, level.columns};
  }
}

float Pyramid::at(int level, std::int64_t row, std::int64_t column) const {
  if (level == 0) {
    return field_->at(part_.row + row, part_.column + column);
  }
  const PyramidLevel& cells = levels_[static_cast<std::size_t>(level - 1)];
  return cells.values[static_cast<std::size_t>(row * cells.columns + column)];
}

float Pyramid::sample(double row, double column, double rows_per_pixel, double columns_per_pixel) const {
  const auto [level, row_taps, column_taps] =
      sampling_of(rows_per_pixel, columns_per_pixel, static_cast<int>(levels_.size()));
  const auto index = [level = level](double place, std::int64_t size) {
    const auto whole = static_cast<std::int64_t>(std::clamp(std::floor(place), 0.0, static_cast<double>(size - 1)));
    return std::min(whole >> level, level_size(size, level) - 1);
  };
  Reducer reducer(reduction_);
  for (int r = 0; r < row_taps; ++r) {
    const double at_row = row + ((r + 0.5) / row_taps - 0.5) * rows_per_pixel;
    for (int c = 0; c < column_taps; ++c) {
      const double at_column = column + ((c + 0.5) / column_taps - 0.5) * columns_per_pixel;
      reducer.add(at(level, index(at_row, part_.rows), index(at_column, part_.columns)));
    }
  }
  return reducer.result();
}

}  // namespace locus::figure
