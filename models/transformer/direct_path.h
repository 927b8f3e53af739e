// The direct path: what each part of a run wrote into one output, through the stream alone.
//
// The stream is a sum of what stem and layers write into it, and the output is linear in it but for norms and a cap.
// With every norm's scale frozen at the run's value (the mean that a LayerNorm takes away is linear and stays), the
// output is a sum over the parts (Elhage et al. 2021, "A mathematical framework for transformer circuits"):
//
//   y = Σ_parts ⟨d_part, part⟩ + Σ constants,     d after a norm is  (w ⊙ d)/σ,  less its mean for a LayerNorm
//
// What a part makes later layers write is theirs, not its own.
//
// Letters: R rows that the head reads, C width, L layers, H heads.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/range.h"
#include "core/base/result.h"
#include "models/transformer/transformer.h"

namespace locus::transformer {

// An output, and how often it counts: {token, 1}, {against, −1}, {kEveryOutput, −1} for less the mean over all.
inline constexpr std::int64_t kEveryOutput = -1;
struct OutputWeight {
  std::int64_t output = 0;
  double weight = 1;
};

struct DirectPath {
  at::Tensor heads;                   // (L, H) float64
  std::vector<double> feed_forwards;  // of each layer, their own biases with them
  std::vector<double> biases;         // of each layer: its output projection's, and those of norms behind branches
  // "embedding" ("patches" of an image, "picture" of a cell of a picture within a text), "positions", "token type", and
  // "picture after layer 0" where a picture is added again, where there are such; last "other biases": the stem's, the
  // final norm's and the head's.
  std::vector<std::pair<std::string, double>> ends;
};

// Splits the sum of `outputs` in row `rows` of an observed run (with ObserveOptions::writes) into what each part wrote.
// Errors: kUnsupported for a model without head or with a transform before it, with cross-attention or a convolution.
Result<DirectPath> direct_path(const Transformer& model, const Batch& batch, const Observation& seen, Range rows,
                               const std::vector<OutputWeight>& outputs);

}  // namespace locus::transformer
