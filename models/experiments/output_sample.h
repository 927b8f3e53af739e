// How the soft-max over a large vocabulary changes from one run to others, from a sample of its outputs: those that are
// likely in some row are all read, and the others are represented by some that are drawn by their probability.
//
// Letters: R rows, N further runs, C width of the stream, V outputs, S outputs of the sample, J parts of the drawn ones.
#pragma once

#include <ATen/ATen.h>

#include <array>
#include <cstdint>
#include <vector>

#include "core/base/progress.h"
#include "core/base/range.h"
#include "core/base/result.h"
#include "models/experiments/output_sums.h"
#include "models/transformer/block.h"
#include "models/transformer/transformer.h"

namespace locus::models {

class OutputSample {
 public:
  static constexpr std::int64_t kLikely = 4096;  // outputs that are most probable in some row, first the rows' own
  static constexpr std::int64_t kDrawn = 4096;   // of the others, with replacement, by their mean probability
  static constexpr std::int64_t kParts = 8;      // J, which the standard error is taken over

  // A sample for the soft-max of stream (R, C), the input of the head of a model of texts, whose sums are `sums` and
  // whose own outputs are `ids` (R), or undefined. The same inputs give the same sample. Errors: kCancelled.
  static Result<OutputSample> of(const transformer::Transformer& model, const at::Tensor& stream,
                                 const OutputSums& sums, const at::Tensor& ids, const StopToken& stop);

  // What changes from the first run to others.
  struct Changes {
    at::Tensor rows;   // (N, R) float64, nats: of −log p of the row's own output; without ids, KL(first ‖ run n)
    at::Tensor error;  // (N) float64, the standard error of the mean over rows that the sample makes
    // (N) bool: whether the sample is fit for the run. It is not where the runs differ by more than two nats, or where
    // single drawn outputs make up much of the sums: then others, which were not drawn, may do so too, and `error` is too
    // small.
    at::Tensor fits;
  };
  // The changes of N runs, others (N, R, C). With a the first run's logits, b another's, D the likely outputs, q what the
  // others are drawn by and P their probability in the first run:
  //   Σ_v e^b / Σ_v e^a ≈ Σ_D e^b / Σ_v e^a + P · Σ_drawn (e^b / q) / Σ_drawn (e^a / q)
  // Errors: kBadInput where a logit is NaN or +∞; kCancelled.
  Result<Changes> changes(const at::Tensor& others, const StopToken& stop) const;

 private:
  // Sums of one row over the likely outputs (first) and over each part of the drawn ones.
  struct RowParts {
    std::array<double, kParts + 1> log_sum = {};  // log Σ e^(b − log q)
    std::array<double, kParts + 1> less = {};     // Σ p (a − b), p of the first run among these outputs
    double largest = 0;                           // max(b − log q) of drawn outputs
  };
  struct RowChanges {
    std::array<double, kParts + 1> by = {};  // by all parts, and by each alone
    double divergence = 0;                   // KL(first ‖ run n) by all parts
    double single = 0;                       // the share of a single drawn output in the sum at most
  };

  explicit OutputSample(const transformer::Transformer& model) : model_(&model) {}

  // Chooses outputs by the largest probability of each in any row, +∞ of the rows' own ones, and by the mean over rows,
  // (V) float32 each.
  void choose(const at::Tensor& largest, const at::Tensor& mean, const at::Tensor& own);
  std::int64_t size() const { return likely_ + drawn_; }
  // The outputs of the sample that are likely (0), or of part n (from 1).
  Range outputs_of(std::int64_t n) const;
  // (R, S) float32 on the CPU, of rows (R, C) of a stream.
  at::Tensor logits(const at::Tensor& stream) const;
  // Takes logits (R, S) of the first run.
  void set_first(const at::Tensor& logits);
  // Sums of logits (S) of the row, which are changed.
  RowParts parts_of(std::int64_t row, float* logits) const;
  RowChanges change_of(std::int64_t row, const RowParts& parts) const;

  const transformer::Transformer* model_;
  at::Tensor outputs_;  // (S) int64: likely ones, then the drawn ones
  std::int64_t likely_ = 0;
  std::int64_t drawn_ = 0;
  transformer::Linear weights_;    // of these outputs
  std::vector<float> log_q_;       // (S), 0 of likely ones
  std::vector<std::int64_t> own_;  // (R) places of the rows' own outputs in the sample; empty: KL is measured
  std::vector<float> logits_;      // (R, S), a
  std::vector<double> log_all_;    // (R), log Σ e^a over all outputs
  std::vector<float> shares_;      // (R, S), p of the first run among the likely outputs or those of a part
  std::vector<RowParts> first_;    // (R)
};

}  // namespace locus::models
