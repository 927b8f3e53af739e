#include <algorithm>
#include <cmath>
#include <optional>

#include "core/analysis/cell_means.h"
#include "core/analysis/distance_bias.h"
#include "core/attention/lane_kernels.h"
#include "core/attention/mask.h"
#include "core/base/numbers.h"

namespace locus::analysis {

namespace {

constexpr std::int64_t kSingle = 64;    // distances below it have bins of their own
constexpr std::int64_t kPerOctave = 8;  // bins beyond it
constexpr Range kNear{0, 101};          // DistanceBiasOptions'
constexpr Range kFar{10000, 10101};

// Nothing where some distance has no cell.
std::optional<std::vector<double>> weights_of(Range range, const std::vector<double>& cells) {
  std::vector<double> weights(cells.size());
  for (std::int64_t distance = range.begin; distance < range.end; ++distance) {
    const double count = cells[static_cast<std::size_t>(distance)];
    if (count <= 0) {
      return std::nullopt;
    }
    weights[static_cast<std::size_t>(distance)] = 1 / (static_cast<double>(range.size()) * count);
  }
  return weights;
}

}  // namespace

std::vector<std::int64_t> distance_edges(std::int64_t length) {
  std::vector<std::int64_t> edges;
  for (std::int64_t distance = 0; distance < std::min(length, kSingle); ++distance) {
    edges.push_back(distance);
  }
  for (std::int64_t octave = kSingle; octave < length; octave *= 2) {
    for (std::int64_t n = 0; n < kPerOctave && octave + n * octave / kPerOctave < length; ++n) {
      edges.push_back(octave + n * octave / kPerOctave);
    }
  }
  edges.push_back(length);
  return edges;
}

CellGrid::CellGrid(const attention::Mask& mask, std::int64_t length, std::int64_t map_size)
    : length_(length), map_size_(std::min(map_size, length)), edges_(distance_edges(length)) {
  bin_of_.resize(static_cast<std::size_t>(length));
  for (std::size_t bin = 0; bin < bins(); ++bin) {
    std::fill(bin_of_.begin() + edges_[bin], bin_of_.begin() + edges_[bin + 1], bin);
  }
  pixel_of_.resize(static_cast<std::size_t>(length));
  for (std::int64_t pixel = 0; pixel < map_size_; ++pixel) {
    std::fill(pixel_of_.begin() + pixel * length / map_size_, pixel_of_.begin() + (pixel + 1) * length / map_size_,
              pixel);
  }
  bin_cells_.resize(bins());
  if (map_size_ > 0 && length % map_size_ == 0 && attention::kLanes % (length / map_size_) == 0) {
    lanes_of_pixel_ = length / map_size_;
  }
  pixel_shares_.resize(static_cast<std::size_t>(map_size_ * map_size_));
  count(mask);
}

void CellGrid::count(const attention::Mask& mask) {
  std::vector<double> cells(static_cast<std::size_t>(length_));
  for (std::int64_t row = 0; row < length_; ++row) {
    const Range seen = mask.columns({row, row + 1}, length_);
    log_keys_.push_back(std::max(std::log(static_cast<double>(seen.size())), 1e-6));
    for (std::int64_t column = seen.begin; column < seen.end; ++column) {
      cells[static_cast<std::size_t>(std::abs(row - column))] += 1;
      if (map_size_ > 0) {
        pixel_shares_[static_cast<std::size_t>(pixel_of(row) * map_size_ + pixel_of(column))] += 1;
      }
      if (column < std::min(kSinkKeys, row)) {
        sink_queries_[static_cast<std::size_t>(column)] += 1;
      }
    }
  }
  for (double& share : pixel_shares_) {
    share = share > 0 ? 1 / share : kNaN;
  }
  for (std::int64_t distance = 0; distance < length_; ++distance) {
    bin_cells_[bin_of(distance)] += cells[static_cast<std::size_t>(distance)];
  }
  const auto [near, far] = fitting_ranges(kNear, kFar, length_);
  const auto near_weight = weights_of(near, cells);
  const auto far_weight = weights_of(far, cells);
  has_bias_ = near_weight && far_weight;
  near_weight_ = has_bias_ ? *near_weight : std::vector<double>(cells.size());
  far_weight_ = has_bias_ ? *far_weight : std::vector<double>(cells.size());
}

}  // namespace locus::analysis
