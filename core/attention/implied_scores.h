// Scores of layers without a soft-max: those that a mixer implies, and none.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <mutex>

#include "core/attention/score_field.h"
#include "core/mixers/implied_map.h"

namespace locus::attention {

// The map M that a mixer implies, y_i = Σ_j M_ij v_j. implied: M, signed. weight: |M_ij| / Σ_j |M_ij|, 0 in rows of
// zeros. content: M without decay. contribution: M less that.
class ImpliedScores : public ScoreSource {
 public:
  explicit ImpliedScores(std::shared_ptr<const mixers::ImpliedMap> map);
  std::int64_t heads() const override { return map_->heads(); }
  std::int64_t length() const override { return map_->length(); }
  Result<at::Tensor> scores(Quantity quantity, Range heads, Range rows, Range columns,
                            at::Tensor& carry) const override;

  const mixers::ImpliedMap& map() const { return *map_; }

 private:
  // (h, R) Σ_j |M_ij|; sums the rows that no one has asked for before.
  at::Tensor row_sums(Range heads, Range rows) const;

  std::shared_ptr<const mixers::ImpliedMap> map_;
  mutable std::mutex mutex_;
  mutable at::Tensor sums_;  // (H, T), NaN where a row is not summed yet
};

// No scores: every cell is NaN. Of a layer without attention beside others that have it.
class NoScores : public ScoreSource {
 public:
  NoScores(std::int64_t heads, std::int64_t length) : heads_(heads), length_(length) {}
  std::int64_t heads() const override { return heads_; }
  std::int64_t length() const override { return length_; }
  Result<at::Tensor> scores(Quantity quantity, Range heads, Range rows, Range columns,
                            at::Tensor& carry) const override;

 private:
  std::int64_t heads_;
  std::int64_t length_;
};

}  // namespace locus::attention
