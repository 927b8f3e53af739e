// What a knock-out measures of each run: a loss, a divergence or a log-probability, as a change from the unedited run.
//
// Letters: R rows of a stream, C its width, P measured positions, N runs, V outputs.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/numbers.h"
#include "core/base/progress.h"
#include "core/base/result.h"
#include "models/api/knock_out.h"
#include "models/experiments/output_sample.h"
#include "models/experiments/output_sums.h"
#include "models/experiments/rerun.h"

namespace locus::models {

// Whether knock-outs of this run have estimates (knock_out_has_estimates()).
bool has_estimates(const Rerun& run, const KnockOutOptions& options);

class KnockOutProbe {
 public:
  struct Effect {
    double value = 0;
    double error = kNaN;  // the standard error of a mean over tokens; NaN where it is none
    double sampling = 0;  // that of a sample of the outputs
  };

  // A probe of runs like `run`, whose stream before the head is `unedited` (R, C). `samples`: it has estimates() too.
  // Precondition: has_estimates(), or not `samples`. Errors: output_sums()'s.
  static Result<KnockOutProbe> make(const Rerun& run, const KnockOutOptions& options, const at::Tensor& unedited,
                                    bool samples, const StopToken& stop);

  // How many runs share a pass over the vocabulary.
  std::int64_t at_once() const;
  // What each run changes, from its stream (R, C). Rows of a large vocabulary are never held whole. Errors:
  // output_sums()'s.
  Result<std::vector<Effect>> operator()(const std::vector<at::Tensor>& streams) const;
  // The same from a sample of the outputs, or from all of them where the sample does not fit.
  Result<std::vector<Effect>> estimates(const std::vector<at::Tensor>& streams) const;

 private:
  KnockOutProbe(const Rerun& run, KnockOutOptions options, StopToken stop);

  // The effect from a run's changes (P) float64.
  Effect mean(const at::Tensor& changes) const;
  // The rows of streams that are measured.
  at::Tensor read(const at::Tensor& stream) const;
  std::vector<at::Tensor> read(const std::vector<at::Tensor>& streams) const;
  // (V) of the last row that was read, or (classes) of an image.
  Result<at::Tensor> last_logits(const at::Tensor& stream) const;
  double log_share(const at::Tensor& logits) const;
  // (P) int64, the token after each position.
  at::Tensor next_ids() const;
  // (N, P) float64, −log p of the token after each position, from the sums of N runs' rows; NaN where it is a
  // picture's cell.
  at::Tensor losses(const OutputSums& sums, std::int64_t runs) const;

  const Rerun* run_;
  KnockOutOptions options_;
  bool image_;
  at::Tensor positions_;  // (P) int64; undefined: all
  at::Tensor unedited_;   // (P, C)
  StopToken stop_;
  std::int64_t token_ = 0;
  at::Tensor own_losses_;  // (P) float64
  at::Tensor own_logits_;  // (classes) of an image
  double own_log_share_ = 0;
  std::optional<OutputSample> sample_;
};

}  // namespace locus::models
