// Statistics of one layer's cells that an atlas keeps, in one pass over them: habits of heads, means by distance, a reduced map,
// attention sinks, the distance bias of all pairs.
//
// Letters: H heads, T tokens, i query, j key, Δ = |i − j|, s logit, A weight, B bins, M pixels per side.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/analysis/head_statistics.h"
#include "core/analysis/sinks.h"
#include "core/base/progress.h"
#include "core/base/range.h"
#include "core/base/result.h"

namespace locus::attention {
struct Mask;
class ScoreField;
}  // namespace locus::attention

namespace locus::analysis {

inline constexpr std::int64_t kSinkKeys = 16;
inline constexpr double kSinkThreshold = 0.3;  // Gu et al. 2024 (arXiv 2410.10781), §3.1
inline constexpr std::int64_t kFarTokens = 64;

// Bins of distances below `length`: every distance by itself below 64, then eight per octave. (B + 1) edges.
std::vector<std::int64_t> distance_edges(std::int64_t length);

// Which bin, pixel and weight every cell of T × T has, and how many visible cells each bin and pixel has. One for all
// windows of a length and all layers of a mask.
class CellGrid {
 public:
  // `map_size` M, at most T; 0: no map. Of masks without blocks of pictures.
  CellGrid(const attention::Mask& mask, std::int64_t length, std::int64_t map_size);

  std::int64_t length() const { return length_; }
  std::int64_t map_size() const { return map_size_; }
  const std::vector<std::int64_t>& edges() const { return edges_; }
  std::size_t bins() const { return edges_.size() - 1; }
  std::size_t bin_of(std::int64_t distance) const { return bin_of_[static_cast<std::size_t>(distance)]; }
  std::int64_t pixel_of(std::int64_t token) const { return pixel_of_[static_cast<std::size_t>(token)]; }
  Range pixels_of(Range tokens) const { return {pixel_of(tokens.begin), pixel_of(tokens.end - 1) + 1}; }
  // How many tokens every pixel has, where all have as many and blocks of 64 rows begin with one; 0 otherwise.
  std::int64_t lanes_of_pixel() const { return lanes_of_pixel_; }
  const std::vector<double>& bin_cells() const { return bin_cells_; }  // (B)
  // (M · M) one by the number of visible cells; NaN where there is none.
  const std::vector<double>& pixel_shares() const { return pixel_shares_; }
  // (16) queries after key j that see it.
  const std::array<double, kSinkKeys>& sink_queries() const { return sink_queries_; }
  const SinkKeys& sinks() const { return sinks_; }
  // ln of the number of keys that a query sees, at least 1e-6.
  double log_keys(std::int64_t row) const { return log_keys_[static_cast<std::size_t>(row)]; }
  // Whether every near and far distance has a visible cell.
  bool has_bias() const { return has_bias_; }
  // The weight of a cell at Δ in the mean over the near distances (far likewise): 1 / (|near| · cells at Δ), 0 outside.
  double near_weight(std::int64_t distance) const { return near_weight_[static_cast<std::size_t>(distance)]; }
  double far_weight(std::int64_t distance) const { return far_weight_[static_cast<std::size_t>(distance)]; }

 private:
  void count(const attention::Mask& mask);

  std::int64_t length_;
  std::int64_t map_size_;
  std::vector<std::int64_t> edges_;
  std::vector<std::size_t> bin_of_;
  std::vector<std::int64_t> pixel_of_;
  std::int64_t lanes_of_pixel_ = 0;
  std::vector<double> bin_cells_, pixel_shares_, log_keys_, near_weight_, far_weight_;
  std::array<double, kSinkKeys> sink_queries_{};
  SinkKeys sinks_;
  bool has_bias_ = false;
};

// One head. NaN where no cell is visible.
struct CellMeans {
  HeadStatistics statistics;   // without gates
  std::vector<double> weight;  // (B) mean A and mean s by distance
  std::vector<double> logit;
  // Over the queries i > j that see key j: mean A_ij, and the share with A_ij > 0.3.
  std::array<double, kSinkKeys> sink_weight{};
  std::array<double, kSinkKeys> sink_share{};
  // s(i, i − λ) − s(i', i' − Λ) of independent i and i', λ near and Λ far, each distance as often as the others
  // (distance_bias.h, Pairing::kIndependent) with the ranges that fit T: its mean and deviation over all such pairs.
  double bias_mean = 0;
  double bias_deviation = 0;
  double largest = 0;  // A_ij of i, j ≥ 1; 0 with one token alone
  // Σ_j A_ij over the keys j ≥ 1 at 64 tokens or more, mean over the queries that may have such keys: i ≥ 64, or all where keys
  // come later too. NaN without one.
  double far = 0;
  double marked = 0;  // mean over all queries of the sum over their marked cells; 0 without marks
};

// Cells of a text whose weights are added up beside the others.
class MarkedCells {
 public:
  explicit MarkedCells(std::int64_t length);
  // Precondition: columns of a row of 64 come in any order; each cell once.
  void add(std::int64_t row, std::int64_t column);
  // To be called after the last add().
  void sort();

  struct Mark {
    std::int32_t column = 0;
    std::int32_t lane = 0;
  };
  // The marked cells of rows 64·n to 64·n + 63, ordered by column.
  std::span<const Mark> of_block(std::size_t n) const { return blocks_[n]; }

 private:
  std::vector<std::vector<Mark>> blocks_;
};

// The keys behind every earlier occurrence of the query's token: what induction reads, (i, j + 1) with ids[j] = ids[i], j < i.
MarkedCells after_earlier_occurrences(std::span<const std::int64_t> ids);

// A weight of at least a bound, among the largest of its query.
struct SparseCell {
  std::int32_t query = 0;
  std::int32_t key = 0;
  float weight = 0;

  friend bool operator==(const SparseCell&, const SparseCell&) = default;
};

// Selects the `count` largest weights of each query that are at least `floor` (of equal weights those of earlier keys),
// ordered by query and key. Errors: the field's own.
Result<std::vector<SparseCell>> largest_weights(const attention::ScoreField& field, std::int64_t head,
                                                std::int64_t count, float floor, StopToken stop = {});

// Called head by head with its map, (M · M) mean A of each pixel's visible cells, NaN where there is none. The numbers
// hold until the next call.
using MapVisitor = std::function<void(std::size_t head, std::span<const double> map)>;

// One entry per head, whose logits and distance bias are NaN where the field has no logits; their maps are told to `visit`,
// where the grid has pixels. `marks` may be null. Preconditions: the field has the grid's length and mask, and at least 8 tokens.
// Errors: the field's own, kCancelled.
Result<std::vector<CellMeans>> cell_means(const attention::ScoreField& field, const CellGrid& grid,
                                          const MapVisitor& visit, StopToken stop = {},
                                          const MarkedCells* marks = nullptr);

}  // namespace locus::analysis
