// CellMeans' sums over one head's block of 64 rows, chunk by chunk in lane order (lane_kernels.h).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
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
  Range pixel_rows, pixel_columns;    // that the block's cells lie in
  std::vector<double> map;            // (pixel columns, pixel rows)
  std::array<double, kSinkKeys> sink_weight{}, sink_over{};
  double near = 0, near_squares = 0, far = 0, far_squares = 0;
  double largest = 0, marked = 0;
  std::vector<double> received;  // of the keys that any of the rows sees, from the first one on
  Range keys;
};

// A chunk in lane order, with what each lane's query sees.
struct Cells {
  Range rows;
  Range columns;
  const std::int32_t* first = nullptr;  // (64)
  const std::int32_t* last = nullptr;
  bool all_visible = false;
};

// One block's chunks, from the right to the left. Between begin() and finish() cells are added up by distance.
class BlockAdder {
 public:
  BlockAdder(const CellGrid& grid, BlockSums& sums, std::span<const MarkedCells::Mark> marks)
      : grid_(grid), sums_(sums), marks_(marks) {}

  // `columns`: all keys that any of the rows sees.
  void begin(Range rows, Range columns) {
    least_ = rows.begin - (columns.end - 1);
    for (std::vector<double>* const sums : {&weights_, &logits_, &squares_}) {
      sums->assign(static_cast<std::size_t>(columns.size() - 1 + kLanes), 0);
    }
    sums_.weight.assign(grid_.bins(), 0);
    sums_.logit.assign(grid_.bins(), 0);
    sums_.received.assign(static_cast<std::size_t>(columns.size()), 0);
    sums_.keys = columns;
    if (grid_.map_size() == 0) {
      return;
    }
    sums_.pixel_rows = grid_.pixels_of(rows);
    sums_.pixel_columns = grid_.pixels_of(columns);
    sums_.map.assign(static_cast<std::size_t>(sums_.pixel_rows.size() * sums_.pixel_columns.size()), 0);
    for (std::int64_t row = 0, lane = 0; row < sums_.pixel_rows.size(); ++row) {
      while (lane < rows.size() && grid_.pixel_of(rows.begin + lane) == sums_.pixel_rows.begin + row) {
        ++lane;
      }
      pixel_ends_[static_cast<std::size_t>(row)] = lane;
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
    add_diagonals(cells, sums, logits_);
    add_diagonals(cells, squares, squares_);
  }

  // From logarithms of weights, which become weights.
  void add_weights(const Cells& cells, float* weights) {
    const std::int64_t columns = cells.columns.size();
    if (!cells.all_visible) {
      kernels_.hide(weights, columns, cells.columns.begin, cells.first, cells.last, kNoWeight);
    }
    alignas(64) LaneFloats here{};
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      here[static_cast<std::size_t>(lane)] = static_cast<float>(cells.rows.begin + lane);
    }
    alignas(64) LaneFloats entropy{};
    alignas(64) LaneFloats distance{};
    kernels_.attention_statistics(weights, columns, static_cast<float>(cells.columns.begin), here.data(),
                                  entropy.data(), distance.data());
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      entropies_[lane] += static_cast<double>(entropy[lane]);
      distances_[lane] += static_cast<double>(distance[lane]);
    }
    clear_rows_behind(cells, weights);
    add_habits(cells, weights);
    add_received(cells, weights);
    alignas(64) Diagonals sums{};
    kernels_.diagonals(weights, columns, sums.data(), nullptr);
    add_diagonals(cells, sums, weights_);
    if (grid_.map_size() > 0) {
      add_pixels(cells, weights);
    }
    for (std::int64_t key = cells.columns.begin; key < std::min(cells.columns.end, kSinkKeys); ++key) {
      add_sink(cells, key, weights + (key - cells.columns.begin) * kLanes);
    }
    const std::int64_t first = cells.columns.begin == 0 ? 1 : 0;  // without the first key
    kernels_.maximum(weights + first * kLanes, columns - first, largest_.data());
    add_marks(cells, weights);
  }

  // Statistics that need all chunks.
  void finish(Range rows) {
    for (std::int64_t lane = rows.begin == 0 ? 1 : 0; lane < rows.size(); ++lane) {
      const auto n = static_cast<std::size_t>(lane);
      sums_.habits.entropy += entropies_[n];
      sums_.habits.relative += entropies_[n] / grid_.log_keys(rows.begin + lane);
      sums_.habits.distance += distances_[n];
      sums_.largest = std::max(sums_.largest, static_cast<double>(largest_[n]));
    }
    for (std::size_t n = 0; n < weights_.size() - static_cast<std::size_t>(kLanes - rows.size()); ++n) {
      const std::int64_t distance = std::abs(least_ + static_cast<std::int64_t>(n));
      sums_.weight[grid_.bin_of(distance)] += weights_[n];
      sums_.logit[grid_.bin_of(distance)] += logits_[n];
      if (const double near = grid_.near_weight(distance); near != 0) {
        sums_.near += near * logits_[n];
        sums_.near_squares += near * squares_[n];
      }
      if (const double far = grid_.far_weight(distance); far != 0) {
        sums_.far += far * logits_[n];
        sums_.far_squares += far * squares_[n];
      }
    }
    weights_ = logits_ = squares_ = {};
  }

 private:
  // A chunk's diagonals, from the lower left on, to those of the block.
  void add_diagonals(const Cells& cells, const Diagonals& sums, std::vector<double>& block) const {
    const std::int64_t width = cells.columns.size();
    double* const to = block.data() + (cells.rows.begin - (cells.columns.end - 1) - least_);
    const float* const from = sums.data() + kLanes - width;
    for (std::int64_t n = 0; n < width + kLanes - 1; ++n) {
      to[n] += static_cast<double>(from[n]);
    }
  }

  // Lanes without a row hold no meaning.
  static void clear_rows_behind(const Cells& cells, float* weights) {
    for (std::int64_t column = 0; column < (cells.rows.size() < kLanes ? cells.columns.size() : 0); ++column) {
      std::fill(weights + column * kLanes + cells.rows.size(), weights + (column + 1) * kLanes, 0.0F);
    }
  }

  void add_habits(const Cells& cells, const float* weights) {
    const std::int64_t skipped = cells.rows.begin == 0 ? 1 : 0;  // the first query has no choice
    if (cells.columns.contains(0)) {
      for (std::int64_t lane = skipped; lane < cells.rows.size(); ++lane) {
        sums_.habits.first += static_cast<double>(weights[lane]);
      }
    }
    if (cells.columns.end < cells.rows.begin || cells.columns.begin >= cells.rows.end) {
      return;
    }
    const auto weight_of = [&](std::int64_t token, std::int64_t lane) {
      return cells.columns.contains(token) ? static_cast<double>(weights[(token - cells.columns.begin) * kLanes + lane])
                                           : 0;
    };
    for (std::int64_t lane = skipped; lane < cells.rows.size(); ++lane) {
      sums_.habits.self += weight_of(cells.rows.begin + lane, lane);
      sums_.habits.previous += weight_of(cells.rows.begin + lane - 1, lane);
    }
  }

  // Adds what the queries i ≥ 1 give to each key, themselves left out.
  void add_received(const Cells& cells, const float* weights) {
    alignas(64) std::array<float, kChunk> received{};
    kernels_.column_sums(weights, cells.columns.size(), received.data());
    for (std::int64_t key = cells.columns.begin; key < cells.columns.end; ++key) {
      const float* const of_key = weights + (key - cells.columns.begin) * kLanes;
      const float self = cells.rows.contains(key) ? of_key[key - cells.rows.begin] : 0;
      const float first = cells.rows.begin == 0 && key > 0 ? of_key[0] : 0;
      sums_.received[static_cast<std::size_t>(key - sums_.keys.begin)] +=
          static_cast<double>(received[static_cast<std::size_t>(key - cells.columns.begin)]) -
          static_cast<double>(self) - static_cast<double>(first);
    }
  }

  void add_pixels(const Cells& cells, const float* weights) {
    const std::int64_t height = sums_.pixel_rows.size();
    for (std::int64_t column = cells.columns.begin; column < cells.columns.end;) {
      const std::int64_t pixel = grid_.pixel_of(column);
      std::int64_t end = column + 1;
      while (end < cells.columns.end && grid_.pixel_of(end) == pixel) {
        ++end;
      }
      alignas(64) LaneFloats sums{};
      kernels_.sum(weights + (column - cells.columns.begin) * kLanes, end - column, sums.data());
      double* const rows = sums_.map.data() + (pixel - sums_.pixel_columns.begin) * height;
      if (grid_.lanes_of_pixel() > 0) {
        kernels_.fold(sums.data(), cells.rows.size(), grid_.lanes_of_pixel(), rows);
      } else {
        for (std::int64_t row = 0, lane = 0; row < height; ++row) {
          for (; lane < pixel_ends_[static_cast<std::size_t>(row)]; ++lane) {
            rows[row] += static_cast<double>(sums[static_cast<std::size_t>(lane)]);
          }
        }
      }
      column = end;
    }
  }

  // One key's weights, of the queries behind it.
  void add_sink(const Cells& cells, std::int64_t key, const float* weights) {
    constexpr std::size_t kParts = 8;
    std::array<float, kLanes> behind{};
    const std::int64_t from = std::clamp<std::int64_t>(key + 1 - cells.rows.begin, 0, cells.rows.size());
    std::copy(weights + from, weights + cells.rows.size(), behind.begin() + from);
    std::array<double, kParts> weight{};
    std::array<double, kParts> over{};
    for (std::size_t lane = 0; lane < kLanes; lane += kParts) {
      for (std::size_t n = 0; n < kParts; ++n) {
        const auto one = static_cast<double>(behind[lane + n]);
        weight[n] += one;
        over[n] += one > kSinkThreshold ? 1.0 : 0.0;
      }
    }
    for (std::size_t n = 0; n < kParts; ++n) {
      sums_.sink_weight[static_cast<std::size_t>(key)] += weight[n];
      sums_.sink_over[static_cast<std::size_t>(key)] += over[n];
    }
  }

  void add_marks(const Cells& cells, const float* weights) {
    const auto begin = std::ranges::lower_bound(marks_, cells.columns.begin, {}, &MarkedCells::Mark::column);
    for (auto mark = begin; mark != marks_.end() && mark->column < cells.columns.end; ++mark) {
      sums_.marked += static_cast<double>(weights[(mark->column - cells.columns.begin) * kLanes + mark->lane]);
    }
  }

  const attention::LaneKernels& kernels_ = attention::lane_kernels();
  const CellGrid& grid_;
  BlockSums& sums_;
  std::span<const MarkedCells::Mark> marks_;
  std::int64_t least_ = 0;                          // the first i − j of the sums by distance
  std::vector<double> weights_, logits_, squares_;  // by i − j
  std::array<double, kLanes> entropies_{}, distances_{};
  alignas(64) LaneFloats largest_{};
  std::array<std::int64_t, kLanes> pixel_ends_{};  // of each pixel row: the lane behind its last one
};

}  // namespace locus::analysis
