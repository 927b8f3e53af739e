// ScoreField: any rectangle of one layer's scores, computed when asked from per-token tensors (or read from a stored
// map), and its exact reduction to screen size. Nothing here holds a (T, T) map that was not stored as one.
//
// Letters: H query heads, T tokens, R rows (queries i), K columns (keys j). Queries and keys are the same T tokens but
// in cross-attention, where those of a decoder look at the tokens of an encoder.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "core/attention/attend.h"
#include "core/attention/quantity.h"
#include "core/base/field.h"
#include "core/base/progress.h"
#include "core/base/range.h"
#include "core/base/result.h"
#include "core/position/position_encoding.h"

namespace locus::attention {

class FusedScores;
class ComputedScores;
class Reducer;

// Where scores come from.
class ScoreSource {
 public:
  virtual ~ScoreSource() = default;
  virtual std::int64_t heads() const = 0;
  virtual std::int64_t length() const = 0;  // queries
  // Keys: as many as queries but in cross-attention.
  virtual std::int64_t keys() const { return length(); }
  // (h, R, K) float32; cells that the mask hides hold no meaning, others that are masked −∞ (weight 0). `carry` is the
  // one this function left behind for the rectangle to the right with the same rows and heads, or undefined. Errors:
  // kUnsupported for a quantity it has not.
  virtual Result<at::Tensor> scores(Quantity quantity, Range heads, Range rows, Range columns,
                                    at::Tensor& carry) const = 0;
  // This source, where it computes from queries and keys; null for stored maps.
  virtual const ComputedScores* computed() const { return nullptr; }
};

// From the queries and keys of a run (batch of one).
class ComputedScores : public ScoreSource {
 public:
  // `layer` counts the layers of the encoding. log_sum_exp (1, H, T), chosen likewise where the encoding attends hard
  // (see Attended); prepared.query (1, H, T, W).
  ComputedScores(std::shared_ptr<const position::PositionEncoding> encoding, std::int64_t layer,
                 position::Prepared prepared, at::Tensor log_sum_exp, at::Tensor chosen = {}, double soft_cap = 0);
  // Made of queries and keys alone: rows are summed when their weights are first asked for. Null where only a run over
  // all of them can tell (see fused_scores.h).
  static std::shared_ptr<const ComputedScores> unsummed(std::shared_ptr<const position::PositionEncoding> encoding,
                                                        std::int64_t layer, position::Prepared prepared,
                                                        const Mask& mask, double soft_cap = 0);
  std::int64_t heads() const override { return prepared_.query.size(1); }
  std::int64_t length() const override { return prepared_.query.size(2); }
  std::int64_t keys() const override { return prepared_.key.size(2); }
  Result<at::Tensor> scores(Quantity quantity, Range heads, Range rows, Range columns,
                            at::Tensor& carry) const override;
  const ComputedScores* computed() const override { return this; }

  const position::PositionEncoding& encoding() const { return *encoding_; }
  const std::shared_ptr<const position::PositionEncoding>& shared_encoding() const { return encoding_; }
  std::int64_t layer() const { return layer_; }
  double soft_cap() const { return soft_cap_; }
  const position::Prepared& prepared() const { return prepared_; }
  // (1, H, T) float32. Sums all rows of an unsummed() source.
  at::Tensor log_sum_exp() const;
  // Whether every row is summed.
  bool summed() const { return log_sum_exp_.defined(); }
  // How fields of this source compute under `mask`; null where tile by tile with scores().
  std::shared_ptr<const FusedScores> fused(const Mask& mask) const;

 private:
  std::shared_ptr<const position::PositionEncoding> encoding_;
  std::int64_t layer_;
  double soft_cap_ = 0;
  position::Prepared prepared_;
  at::Tensor log_sum_exp_;  // undefined: `fused_` sums
  at::Tensor chosen_;
  std::shared_ptr<const FusedScores> fused_;  // of unsummed() alone
};

// From maps that a program wrote, (H, T, T) each or (H, queries, keys); other quantities come from `rest`, when there
// is one.
class StoredScores : public ScoreSource {
 public:
  // At least one map or a rest; all of one shape.
  explicit StoredScores(std::map<Quantity, at::Tensor> maps, std::shared_ptr<const ScoreSource> rest = {});
  std::int64_t heads() const override { return heads_; }
  std::int64_t length() const override { return length_; }
  std::int64_t keys() const override { return keys_; }
  Result<at::Tensor> scores(Quantity quantity, Range heads, Range rows, Range columns,
                            at::Tensor& carry) const override;

 private:
  std::map<Quantity, at::Tensor> maps_;
  std::shared_ptr<const ScoreSource> rest_;
  std::int64_t heads_ = 0;
  std::int64_t length_ = 0;
  std::int64_t keys_ = 0;
};

// The rectangle that is asked for; empty ranges mean all tokens.
struct Region {
  Quantity quantity = Quantity::kWeight;
  std::int64_t head = 0;  // or kMeanHead: the mean over all heads, of weights only
  Range rows;
  Range columns;
  bool mark_masked = false;  // hidden weights are NaN, like every other quantity
};

class ScoreField {
 public:
  ScoreField(std::shared_ptr<const ScoreSource> source, Mask mask);

  const ScoreSource& source() const { return *source_; }
  const Mask& mask() const { return mask_; }

  // Every cell. Hidden cells: weight 0 (NaN with `mark_masked`), every other quantity NaN. Errors: kBadInput for a head
  // or range that does not exist; kUnsupported; kTooLarge beyond 2²⁸ cells; kCancelled.
  Result<Field> map(const Region& region, StopToken stop = {}) const;
  // The exact mean or maximum of each pixel's visible cells, at most height × width pixels; pixel p of n covers the
  // cells ⌊p·R/n⌋ … ⌊(p+1)·R/n⌋ − 1. Pixels without visible cells are as hidden cells of map(). Of the pixels' rows
  // only `pixel_rows` (empty: all), so that a picture may become exact band by band. Errors: those of map() but
  // kTooLarge; kBadInput for pixel rows that do not exist.
  Result<Field> overview(const Region& region, std::int64_t height, std::int64_t width, Reduction reduction,
                         StopToken stop = {}, Range pixel_rows = {}) const;
  // One exact cell for each of those pixels: of its last row and first column, which a causal mask hides last.
  // kUnsupported where single cells cannot be had sooner than all of them.
  Result<Field> preview(const Region& region, std::int64_t height, std::int64_t width, StopToken stop = {}) const;

 private:
  // The region with its ranges filled in, checked.
  Result<Region> checked(Region region) const;
  // (R, K) of one head or the mean.
  Result<at::Tensor> tile(const Region& region, Range rows, Range columns, at::Tensor& carry) const;
  Status overview_by_tiles(const Region& region, Reducer& reducer, const StopToken& stop) const;

  std::shared_ptr<const ScoreSource> source_;
  Mask mask_;
  std::shared_ptr<const FusedScores> fused_;  // null: tile by tile
};

}  // namespace locus::attention
