// The direct path: the contribution of each part of a run to one output, through the residual stream alone.
//
// The stream is the sum of what stem and layers write into it, and the output is linear in it except for norms and a
// cap. With the scale of every norm frozen at the run's value (the mean that a LayerNorm subtracts is linear and
// stays), the output is a sum over the parts (Elhage et al. 2021, "A mathematical framework for transformer circuits"):
//
//   y = Σ_parts ⟨d_part, part⟩ + Σ constants,     d before a norm is  (w ⊙ d)/σ,  minus its mean for a LayerNorm
//
// Indirect effects count for the later layers that write them.
//
// A layer's query or key is a sum over what earlier layers wrote too, with the scales of the norms frozen likewise.
//
// Letters: R rows that the head reads, C width, L layers, H heads, D width of a query.
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

// An output and its weight: {token, 1}, {against, −1}, {kEveryOutput, −1} to subtract the mean over all outputs.
inline constexpr std::int64_t kEveryOutput = -1;
struct OutputWeight {
  std::int64_t output = 0;
  double weight = 1;
};

struct DirectPath {
  at::Tensor heads;                   // (L, H) float64
  std::vector<double> feed_forwards;  // per layer, including the biases of its matrices
  std::vector<double> mixers;         // per layer; empty where no layer has a mixer
  std::vector<double> biases;         // per layer: biases of the output projection and of norms after branches
  // Named contributions outside the layers: "embedding" ("patches" in an image, "picture" for a picture token within a
  // text), "positions", "token type", "picture after layer 0" and "per-layer embeddings" (all layers' own inputs) where
  // the model has them; last "other biases": of stem, final norm and head.
  std::vector<std::pair<std::string, double>> ends;
};

// Splits the sum of `outputs` in row `rows` of an observed run (with ObserveOptions::writes) into what each part wrote.
// Errors: kUnsupported for a model without head or with a transform before it, with cross-attention, convolutions, rounds
// of layers or differences of heads.
Result<DirectPath> direct_path(const Transformer& model, const Batch& batch, const Observation& seen, Range rows,
                               const std::vector<OutputWeight>& outputs);

// A part of a run, and what comes of it at some place.
struct RunPart {
  enum class Kind { kEnd, kHead, kFeedForward, kMixer, kBiases };
  Kind kind = Kind::kEnd;
  std::string name;         // of an end, as DirectPath names them
  std::int64_t layer = -1;  // of all others
  std::int64_t head = -1;
  at::Tensor vector;  // float64
};

// Which vector of a layer, and of which token.
struct ScoreSide {
  std::int64_t layer = 0;
  std::int64_t head = 0;  // a query head, whose key is its group's
  bool key = false;
  std::int64_t row = 0;
};

// The query or key (D) of an observed run before the encoding, as Block::project() makes it, split into what each part
// of the run gave; `kept`: the rows of which `seen` has the writes. The last part is the biases of that layer. Errors:
// kUnsupported where earlier layers or this one make no sum (see direct_path), for latent attention, a learned part of
// scores and numbers that were clipped.
Result<std::vector<RunPart>> score_parts(const Transformer& model, const Batch& batch, const Observation& seen,
                                         Range kept, const ScoreSide& side);

}  // namespace locus::transformer
