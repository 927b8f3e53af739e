// Block: one layer of a transformer, whatever its LayerSpec says. Training and inference run the same code; without
// gradients intermediate results that nobody else holds are overwritten.
//
// Letters: B batch, T tokens, C width, H heads, Hkv key heads, D head width, I inner width, E experts.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/attention/attend.h"
#include "core/base/range.h"
#include "core/base/result.h"
#include "core/position/position_encoding.h"
#include "models/transformer/spec.h"

namespace locus::transformer {

// y = x·weightᵀ + bias; bias may be undefined. A Conv1D checkpoint's [in, out] weight is held as its transposed view.
struct Linear {
  at::Tensor weight;
  at::Tensor bias;
};

// (…, in) · weightᵀ + bias in one product. Every product with weights goes through here.
at::Tensor linear(const at::Tensor& x, const Linear& weights);

struct NormWeights {
  at::Tensor weight;  // undefined: 1
  at::Tensor bias;    // undefined for RMSNorm
};

// Over the last dimension.
at::Tensor normalise(const at::Tensor& x, const NormWeights& weights, Norm norm, double eps);

// Whether the branch's norm is of what goes into it; of what comes out of it.
bool before(NormPlace place);
bool after(NormPlace place);

at::Tensor activate(Activation activation, at::Tensor x);

// (B, T, H·D) -> (B, H, T, D), each head's rows together: what products and kept traces read.
at::Tensor split_heads(const at::Tensor& x, std::int64_t heads);

// A gated or plain feed-forward's matrices; of one expert where there are experts.
struct FeedForwardWeights {
  Linear gate, up, down;
};

struct ExpertWeights {
  Linear router;
  at::Tensor correction;  // (E)
  std::vector<FeedForwardWeights> experts;
  FeedForwardWeights shared;
  Linear shared_gate;
};

struct LayerWeights {
  NormWeights attention_norm, attention_after_norm;
  Linear qkv;                                           // kFused, kPerHead
  Linear query, key, value;                             // kSeparate
  Linear query_down, query_up, latent_down, latent_up;  // latent attention
  NormWeights query_latent_norm, latent_norm;
  std::vector<NormWeights> query_norm, key_norm;  // one, or one per head
  at::Tensor sinks;                               // (H)
  Linear output;
  at::Tensor attention_scale;
  NormWeights cross_norm;
  Linear cross_query, cross_key, cross_value, cross_output;
  NormWeights feed_forward_norm, feed_forward_after_norm;
  FeedForwardWeights feed_forward;
  ExpertWeights experts;
  at::Tensor feed_forward_scale;
};

// Which experts the tokens went to, (B·T, k) each; of a layer's record (B, T, k).
struct Routing {
  at::Tensor experts;  // int64
  at::Tensor weights;  // float32
};

// down(activation(gate x) ⊙ up x) or down(activation(up x)), (…, C) -> (…, C).
at::Tensor feed_forward(const FeedForwardSpec& spec, const FeedForwardWeights& weights, const at::Tensor& x);
// The same through each token's experts. `routing` may be null.
at::Tensor feed_forward(const FeedForwardSpec& spec, const ExpertWeights& weights, const at::Tensor& x,
                        Routing* routing);

class Continued;

// What observe() keeps of one layer.
struct LayerRecord {
  position::Prepared prepared;
  position::State state;   // entering the layer; its table is shared between layers unless the encoding updates it
  at::Tensor log_sum_exp;  // (B, H, T) float32, or float64 where scores may be large
  at::Tensor chosen;       // (B, H, T) int64; hard attention only
  at::Tensor hidden;       // (B, T, C) entering the layer; only when asked
  at::Tensor value;        // (B, Hkv, T, Dv); only when asked
  Routing routing;         // only when asked, of layers with experts
};

using Attend = std::function<Result<attention::Attended>(std::int64_t layer, const position::Prepared& prepared,
                                                         const at::Tensor& value, const at::Tensor& state_values)>;

// What a layer wrote into some rows of the stream, and what its norms there were taken of (direct_path.h).
struct LayerWrites {
  Range rows = {};          // of x, R in all; empty: every row that the layer leaves
  at::Tensor entering;      // (B, R, C)
  at::Tensor heads;         // (B, R, H·Dv) before the output projection
  at::Tensor attention;     // (B, R, C) behind it, before a norm of its own
  at::Tensor middle;        // (B, R, C) with that added, before a norm of the sum
  at::Tensor feed_forward;  // (B, R, C) before a norm of its own
  at::Tensor leaving;       // (B, R, C) with that added, before a norm of the sum
};

// What a layer's cross-attention is run with.
struct CrossRun {
  const position::PositionEncoding& encoding;  // none
  const at::Tensor& memory;                    // (B, K, C) states of an encoder
  const Attend& attend;
  LayerRecord* record = nullptr;  // may be null
};

// What a layer is run with.
struct LayerRun {
  const position::PositionEncoding& encoding;  // the layer's own
  std::int64_t encoding_layer = 0;             // its number among the layers of that encoding
  position::State& state;  // of that encoding; of a continued run, of the tokens after the reused ones
  const Attend& attend;
  LayerRecord* record = nullptr;    // may be null
  Range output_rows = {};           // of the last layer only the output of these rows of x; empty: all, not the last
  Continued* continued = nullptr;   // may be null; x is then that of the tokens after the reused ones
  Routing* routing = nullptr;       // may be null
  const CrossRun* cross = nullptr;  // of layers with cross-attention
  LayerWrites* writes = nullptr;    // may be null
};

class Block {
 public:
  Block(const Spec& spec, std::int64_t index);

  std::int64_t index() const { return index_; }
  const LayerSpec& spec() const { return layer_; }
  LayerWeights& weights() { return weights_; }
  const LayerWeights& weights() const { return weights_; }

  // Which keys its queries see.
  attention::Mask mask() const;
  // (B, T, C) as its attention reads it: behind the norm that stands before it, where there is one.
  at::Tensor attention_input(const at::Tensor& x) const {
    return before(layer_.attention_norm) ? norm(x, weights_.attention_norm) : x;
  }
  // What its attention projects of that, for tokens at these positions; the encoding changes it later.
  position::Projections project(const at::Tensor& input, const position::PositionEncoding& encoding,
                                const position::Positions& positions) const;
  // (B, T, C) -> (B, T, C). Errors: those of `run.attend`.
  Result<at::Tensor> operator()(const at::Tensor& x, const LayerRun& run) const;

 private:
  at::Tensor norm(const at::Tensor& x, const NormWeights& weights) const;
  position::Projections project_latent(const at::Tensor& x) const;
  // q and k of whole width, split; normed before or after as the layer's form says.
  at::Tensor split_normed(const at::Tensor& x, std::int64_t heads, const std::vector<NormWeights>& weights) const;
  at::Tensor scaled_query(const at::Tensor& query, const position::PositionEncoding& encoding,
                          const position::Positions& positions) const;
  // The attention's output of run.output_rows (or all), before its projection; what of it is kept goes to the record.
  Result<attention::Attended> attend(const at::Tensor& normed, const LayerRun& run, LayerRecord& seen,
                                     at::Tensor& state_values) const;
  // x and what it finds among the states of an encoder.
  Result<at::Tensor> cross(const at::Tensor& x, const LayerRun& run) const;
  at::Tensor feed(const at::Tensor& x, const LayerRun& run) const;

  std::int64_t index_;
  LayerSpec layer_;
  bool causal_;
  Norm norm_;
  double eps_;
  double residual_scale_;
  LayerWeights weights_;
};

}  // namespace locus::transformer
