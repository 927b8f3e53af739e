// CellMeans' sums over one head's block of 64 rows, chunk by chunk in lane order (lane_kernels.h).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/analysis/cell_means.h"
#include "core/attention/fused_scores.h"

namespace locus::analysis {

using attention::kChunk;
using attention::kLanes;

inline constexpr float kNoWeight = -100;  // hidden cells as logarithms of weights: 0, and finite
using LaneFloats = std::array<float, kLanes>;
using Diagonals = std::array<float, 2 * kLanes>;

// Sums over the cells of one head's block of 64 rows.
struct BlockSums {
  attention::StatisticSums habits;
  std::vector<double> weight, logit;  // (B)
  std::int64_t first_pixel = 0;       // the block's pixel rows begin here
  std::vector<double> map;            // (pixel rows of the block · M)
  std::array<double, kSinkKeys> sink_weight{}, sink_over{};
  double near = 0, near_squares = 0, far = 0, far_squares = 0;
};

// A chunk in lane order, with what each lane's query sees.
struct Cells {
  Range rows;
  Range columns;
  const std::int32_t* first = nullptr;  // (64)
  const std::int32_t* last = nullptr;
  bool all_visible = false;
};

class BlockAdder {
 public:
  BlockAdder(const CellGrid& grid, BlockSums& sums) : grid_(grid), sums_(sums) {}

  void begin(Range rows) {
    sums_.weight.assign(grid_.bins(), 0);
    sums_.logit.assign(grid_.bins(), 0);
    if (grid_.map_size() > 0) {
      sums_.first_pixel = grid_.pixel_of(rows.begin);
      const std::int64_t pixels = grid_.pixel_of(rows.end - 1) + 1 - sums_.first_pixel;
      sums_.map.assign(static_cast<std::size_t>(pixels * grid_.map_size()), 0);
    }
  }

  // Hidden cells become 0.
  void add_logits(const Cells& cells, float* logits) {
    if (!cells.all_visible) {
      kernels_.hide(logits, cells.columns.size(), cells.columns.begin, cells.first, cells.last, 0);
    }
    clear_rows_behind(cells, logits);
    alignas(64) Diagonals sums{};
    alignas(64) Diagonals squares{};
    kernels_.diagonals(logits, cells.columns.size(), sums.data(), squares.data());
    each_diagonal(cells, [&](std::int64_t distance, std::size_t n) {
      const auto sum = static_cast<double>(sums[n]);
      sums_.logit[grid_.bin_of(distance)] += sum;
      const double near = grid_.near_weight(distance);
      const double far = grid_.far_weight(distance);
      if (near != 0) {
        sums_.near += near * sum;
        sums_.near_squares += near * static_cast<double>(squares[n]);
      }
      if (far != 0) {
        sums_.far += far * sum;
        sums_.far_squares += far * static_cast<double>(squares[n]);
      }
    });
  }

  // From logarithms of weights, which become weights.
  void add_weights(const Cells& cells, float* weights) {
    const std::int64_t columns = cells.columns.size();
    if (!cells.all_visible) {
      kernels_.hide(weights, columns, cells.columns.begin, cells.first, cells.last, kNoWeight);
    }
    alignas(64) LaneFloats here{};
    for (std::int64_t lane = 0; lane < cells.rows.size(); ++lane) {
      here[static_cast<std::size_t>(lane)] = static_cast<float>(cells.rows.begin + lane);
    }
    alignas(64) LaneFloats entropy{};
    alignas(64) LaneFloats distance{};
    kernels_.attention_statistics(weights, columns, static_cast<float>(cells.columns.begin), here.data(),
                                  entropy.data(), distance.data());
    clear_rows_behind(cells, weights);
    add_habits(cells, weights, entropy, distance);
    alignas(64) Diagonals sums{};
    kernels_.diagonals(weights, columns, sums.data(), nullptr);
    each_diagonal(cells, [&](std::int64_t away, std::size_t n) {
      sums_.weight[grid_.bin_of(away)] += static_cast<double>(sums[n]);
    });
    if (grid_.map_size() > 0) {
      add_pixels(cells, weights);
    }
    if (cells.columns.begin < kSinkKeys) {
      add_sinks(cells, weights);
    }
  }

  // The entropies of the rows, once all chunks are there.
  void finish(const Cells& cells) {
    for (std::int64_t lane = 0; lane < cells.rows.size(); ++lane) {
      if (cells.rows.begin + lane > 0) {
        const double entropy = entropies_[static_cast<std::size_t>(lane)];
        sums_.habits.entropy += entropy;
        sums_.habits.relative +=
            entropy / std::max(std::log(static_cast<double>(cells.last[lane] - cells.first[lane])), 1e-6);
      }
    }
  }

 private:
  // visit(|i − j|, n) for the chunk's diagonals, n counting from the lower left.
  template <class Visit>
  static void each_diagonal(const Cells& cells, const Visit& visit) {
    const std::int64_t least = cells.rows.begin - (cells.columns.end - 1);
    for (std::int64_t n = kLanes - cells.columns.size(); n < kLanes - 1 + cells.rows.size(); ++n) {
      visit(std::abs(least + n - (kLanes - cells.columns.size())), static_cast<std::size_t>(n));
    }
  }

  // Lanes without a row hold no meaning.
  static void clear_rows_behind(const Cells& cells, float* weights) {
    for (std::int64_t column = 0; column < (cells.rows.size() < kLanes ? cells.columns.size() : 0); ++column) {
      std::fill(weights + column * kLanes + cells.rows.size(), weights + (column + 1) * kLanes, 0.0F);
    }
  }

  void add_habits(const Cells& cells, const float* weights, const LaneFloats& entropy, const LaneFloats& distance) {
    const auto weight_of = [&](std::int64_t token, std::int64_t lane) {
      return cells.columns.contains(token) ? static_cast<double>(weights[(token - cells.columns.begin) * kLanes + lane])
                                           : 0;
    };
    for (std::int64_t lane = cells.rows.begin == 0 ? 1 : 0; lane < cells.rows.size(); ++lane) {
      const auto n = static_cast<std::size_t>(lane);
      const std::int64_t token = cells.rows.begin + lane;
      entropies_[n] += static_cast<double>(entropy[n]);
      sums_.habits.distance += static_cast<double>(distance[n]);
      sums_.habits.self += weight_of(token, lane);
      sums_.habits.previous += weight_of(token - 1, lane);
      sums_.habits.first += weight_of(0, lane);
    }
  }

  void add_pixels(const Cells& cells, const float* weights) {
    const std::int64_t size = grid_.map_size();
    for (std::int64_t column = cells.columns.begin; column < cells.columns.end;) {
      const std::int64_t pixel = grid_.pixel_of(column);
      std::int64_t end = column + 1;
      while (end < cells.columns.end && grid_.pixel_of(end) == pixel) {
        ++end;
      }
      alignas(64) LaneFloats sums{};
      kernels_.sum(weights + (column - cells.columns.begin) * kLanes, end - column, sums.data());
      for (std::int64_t lane = 0; lane < cells.rows.size(); ++lane) {
        const std::int64_t row = grid_.pixel_of(cells.rows.begin + lane) - sums_.first_pixel;
        sums_.map[static_cast<std::size_t>(row * size + pixel)] +=
            static_cast<double>(sums[static_cast<std::size_t>(lane)]);
      }
      column = end;
    }
  }

  void add_sinks(const Cells& cells, const float* weights) {
    for (std::int64_t key = cells.columns.begin; key < std::min(cells.columns.end, kSinkKeys); ++key) {
      const auto n = static_cast<std::size_t>(key);
      for (std::int64_t lane = std::max<std::int64_t>(key + 1 - cells.rows.begin, 0); lane < cells.rows.size();
           ++lane) {
        const auto weight = static_cast<double>(weights[(key - cells.columns.begin) * kLanes + lane]);
        sums_.sink_weight[n] += weight;
        sums_.sink_over[n] += weight > kSinkThreshold ? 1 : 0;
      }
    }
  }

  const attention::LaneKernels& kernels_ = attention::lane_kernels();
  const CellGrid& grid_;
  BlockSums& sums_;
  std::array<double, kLanes> entropies_{};
};

}  // namespace locus::analysis
