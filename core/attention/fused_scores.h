// FusedScores: tiles, reductions and samples of one layer's scores straight from its queries and keys, 64 × 64 cells at
// a time in cache. What a ScoreField uses where the layer's scores have a RowProgram.
//
// Letters: H query heads, T tokens.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/attention/quantity.h"
#include "core/attention/row_scores.h"
#include "core/base/field.h"

namespace locus::attention {

// A rectangle of one head, or of the mean over heads, with ranges filled in.
struct Rectangle {
  Quantity quantity = Quantity::kWeight;
  std::int64_t head = 0;  // or kMeanHead
  Range rows;
  Range columns;
};

// Sums over one head's queries i ≥ 1, weights A_ij; of gates over all visible cells. See analysis/head_statistics.h.
struct StatisticSums {
  double entropy = 0;       // −Σ_j A_ij ln A_ij
  double relative = 0;      // that divided by ln of the number of keys seen
  double distance = 0;      // Σ_j A_ij |i − j|
  double previous = 0;      // A_i,i−1
  double first = 0;         // A_i,0
  double self = 0;          // A_ii
  double gates = 0;         // Σ g_ij; 0 without gates
  double gate_squares = 0;  // Σ g_ij²
  double cells = 0;         // visible ones
  // (T) Σ_i A_ij over the queries i ≥ 1, i ≠ j. Of a block of rows: those of `keys`.
  std::vector<double> received;
  Range keys;
};

// At most 64 columns of one head's block of at most 64 rows, as RowScores left them: hidden cells hold no meaning.
struct LaneChunk {
  std::int64_t head = 0;
  Range rows;
  Range columns;
  RowScores& scores;
  const float* log_sums = nullptr;  // (64) log Σ exp of each row
};

class FusedScores {
 public:
  // `log_sum_exp` (1, H, T) float32, which may lie in a file and is read alone, or undefined: rows are summed when a
  // weight of them is first asked for, and kept.
  FusedScores(RowProgram program, const at::Tensor& log_sum_exp);

  bool has(Quantity quantity) const;

  // Writes the visible cells into field (|rows| × |columns|), leaves the others. Errors: kCancelled.
  Status map(const Rectangle& rectangle, Field& field, const StopToken& stop) const;
  // Writes those pixels of the pixel rows `band` that have a visible cell into field (|band| × columns.count). Errors:
  // kCancelled.
  Status overview(Quantity quantity, std::int64_t head, const Pixels& rows, const Pixels& columns, Range band,
                  Reduction reduction, Field& field, const StopToken& stop) const;
  // Writes visible cells (rows[r], columns[c]) into field.at(r, c), both ascending. Errors: kCancelled.
  Status sample(const Rectangle& rectangle, std::span<const std::int64_t> rows, std::span<const std::int64_t> columns,
                Field& field, const StopToken& stop) const;
  // One entry per head, of all rows in one pass. Errors: kCancelled.
  Result<std::vector<StatisticSums>> statistics(const StopToken& stop) const;
  // visit(task, chunk) with the logits of all visible cells: task n is head n mod H of the rows from 64·⌊n / H⌋ on, and
  // its chunks come from the right to the left on one thread; tasks run at the same time. Errors: kCancelled.
  using ChunkVisitor = std::function<void(std::int64_t task, const LaneChunk& chunk)>;
  Status each_chunk(const ChunkVisitor& visit, const StopToken& stop) const;
  // (1, H, T) of every row. Errors: kCancelled.
  Result<at::Tensor> log_sum_exp(const StopToken& stop = {}) const;

 private:
  struct Scratch;
  // The values of the rectangle's columns for at most 64 rows, chunk by chunk from the right.
  using Sink = std::function<void(RowScores& scores, float* values, Range columns)>;
  void scan(const Rectangle& rectangle, std::span<const std::int64_t> rows, Scratch& scratch, const Sink& sink,
            bool keep_sums) const;
  void scan_head(const Rectangle& rectangle, std::int64_t head, std::span<const std::int64_t> rows, Scratch& scratch,
                 const Sink& sink, bool keep_sums) const;
  // scratch.few[n][lane]: the value of row `lane` and key columns[n]; no meaning where no row of the block sees the
  // key.
  void sample_head(const Rectangle& rectangle, std::int64_t head, std::span<const std::int64_t> rows,
                   std::span<const std::int64_t> columns, Scratch& scratch) const;
  StatisticSums block_statistics(std::int64_t head, Range rows, Scratch& scratch) const;
  // Brings the sums of a row block to where `column` is the next one to count.
  void count_to(std::int64_t column, std::int64_t head, std::int64_t first_row, RowScores& scores,
                bool keep_sums) const;
  // The logarithms of the rows' soft-max sums, summed now where they are not known.
  void row_sums(std::int64_t head, std::span<const std::int64_t> rows, RowScores& scores, float* sums) const;

  // Gate sums of one head's 64 rows at every kKeepStep columns.
  struct Kept {
    std::pair<std::int64_t, std::int64_t> key;  // head, first row
    std::shared_ptr<const std::vector<float>> sums;
  };
  std::shared_ptr<const std::vector<float>> find_kept(std::pair<std::int64_t, std::int64_t> key) const;
  void keep(Kept kept) const;

  RowProgram program_;
  mutable at::Tensor sums_;                                 // (1, H, T)
  mutable std::optional<std::vector<std::uint8_t>> known_;  // which of them, 1 or 0; none: all, and none is written
  mutable std::mutex mutex_;
  mutable std::list<Kept> kept_;  // newest first
  mutable std::int64_t kept_floats_ = 0;
};

}  // namespace locus::attention
