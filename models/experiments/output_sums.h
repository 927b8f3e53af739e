// What a soft-max over a vocabulary says, from blocks of its outputs: rows of logits of a large vocabulary are never
// held whole.
//
// Letters: R rows, C width of the stream, V outputs.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "models/transformer/transformer.h"

namespace locus::models {

// Sums of each row, on the CPU.
struct OutputSums {
  at::Tensor largest;      // (R) float32, the largest logit
  at::Tensor likeliest;    // (R) int64, the output that has it, the first of equals
  at::Tensor log_sum_exp;  // (R) float64, nats
  at::Tensor own;          // (R) float32, the logit of the row's own output; undefined where none was asked for
  at::Tensor rank;         // (R) int64, of that output among all, from 1; undefined where it was not asked for
};

struct OutputSumsOptions {
  at::Tensor ids = {};       // (R) int64, each row's own output; undefined: none
  std::int64_t token = -1;   // the own output of every row, with its rank; −1: those of `ids`
  std::int64_t at_once = 0;  // outputs of a block; 0: chosen by the number of rows
  StopToken stop = {};
};

// Rows that share a pass over the output matrix, whose blocks are expanded once for all of them.
inline constexpr std::int64_t kMaxOutputRows = 1024;

// Sums of stream (R, C), the input of the head of a model of texts, in float64 of exponentials in float32.
// Errors: kBadInput where a logit is NaN or +∞; kCancelled.
Result<OutputSums> output_sums(const transformer::Transformer& model, const at::Tensor& stream,
                               const OutputSumsOptions& options);

// The divergence of runs from a first one, nats and at least 0, with the sums of all.
struct OutputDivergence {
  at::Tensor kl;      // (N, R) float64, KL(first ‖ run n) of each row
  OutputSums first;   // of R rows
  OutputSums others;  // of N·R rows, run after run
};
// KL and sums of stream (R, C) and those of N further runs (N, R, C) of the same model or of `others_by`, which has as
// many outputs; `ids` (R) of all. All in float64. Errors: output_sums()'s.
Result<OutputDivergence> output_divergence(const transformer::Transformer& model, const at::Tensor& first,
                                           const at::Tensor& others, const OutputSumsOptions& options,
                                           const transformer::Transformer* others_by = nullptr);

}  // namespace locus::models
