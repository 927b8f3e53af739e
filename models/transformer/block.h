// Block: one layer of a transformer, as its LayerSpec describes it. Training and inference run the same code; without
// gradients, intermediate results that are no longer referenced are overwritten.
//
// Letters: B batch, T tokens, C width, H heads, Hkv key heads, D head width, I inner width, E experts.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "core/attention/attend.h"
#include "core/base/range.h"
#include "core/base/result.h"
#include "core/position/position_encoding.h"
#include "models/transformer/mixers/mixer.h"
#include "models/transformer/spec.h"

namespace locus::transformer {

// y = x·weightᵀ + bias; bias may be undefined. A Conv1D checkpoint's [in, out] weight is held as its transposed view.
struct Linear {
  at::Tensor weight;
  at::Tensor bias;
  at::Tensor bounds = {};  // (4): least and largest number of x, then those of y, which are cut off; undefined: none
};

// (…, in) · weightᵀ + bias in one product. Every product with weights goes through here.
at::Tensor linear(const at::Tensor& x, const Linear& weights);
// linear() of each, of the same x; of one token side by side.
std::vector<at::Tensor> linears(const at::Tensor& x, std::initializer_list<const Linear*> weights);

struct NormWeights {
  at::Tensor weight;  // undefined: 1
  at::Tensor bias;    // undefined for RMSNorm
};

// Normalises over the last dimension.
at::Tensor normalise(const at::Tensor& x, const NormWeights& weights, Norm norm, double eps);

// True where the norm of a branch is applied to its input; to its output.
bool before(NormPlace place);
bool after(NormPlace place);

at::Tensor activate(Activation activation, at::Tensor x);

// (B, T, H·D) -> (B, H, T, D), each head's rows together: what products and kept traces read.
at::Tensor split_heads(const at::Tensor& x, std::int64_t heads);

// Matrices of a gated or plain feed-forward, or of one expert.
struct FeedForwardWeights {
  Linear gate, up, down;
  NormWeights inner_norm;
  // The numbers of xIELU: softplus(alpha_p)·x² + beta·x for x > 0, (beta + softplus(alpha_n))·(e^min(x, eps) − 1 − x) +
  // beta·x otherwise. The first two have shape (1), the others ().
  at::Tensor alpha_p, alpha_n, beta, eps;
  at::Tensor output_scale;  // (1), where the output has one; an expert has none of its own
};

struct ExpertWeights {
  Linear router;
  at::Tensor correction;  // (E)
  std::vector<FeedForwardWeights> experts;
  std::vector<FeedForwardWeights> always;  // of every token
  at::Tensor output_scale;                 // (1)
  FeedForwardWeights shared;
  Linear shared_gate;
};

struct LayerWeights {
  NormWeights attention_norm, attention_after_norm;
  Linear qkv;                                           // kFused, kPerHead
  Linear query, key, value;                             // kSeparate
  Linear query_down, query_up, latent_down, latent_up;  // latent attention
  NormWeights query_latent_norm, latent_norm;
  std::vector<NormWeights> query_norm, key_norm;                      // one, or one per head
  at::Tensor sinks;                                                   // (H)
  at::Tensor difference_a, difference_b, difference_c, difference_d;  // (D), differential attention
  Linear key_shift, value_shift;                                      // (Hkv, C)
  at::Tensor key_convolution, value_convolution;                      // (Hkv·D, K), K tokens
  at::Tensor attention_convolution, feed_forward_convolution;         // (C, K)
  Linear bonus;                                                       // (Hkv, Hkv·Dv), the learned part of scores,
  at::Tensor bonus_rate;                                              // and its A (Hkv)
  NormWeights output_norm;
  Linear gate;  // (H or H·Dv, C), bias (H)
  Linear output;
  at::Tensor attention_scale;
  at::Tensor attention_stream, feed_forward_stream;  // (C), where a sum is learned
  NormWeights cross_norm;
  Linear cross_query, cross_key, cross_value, cross_output;
  NormWeights feed_forward_norm, feed_forward_after_norm;
  FeedForwardWeights feed_forward;
  ExpertWeights experts;
  at::Tensor feed_forward_scale;
  Linear input_gate, input_down;  // the branch of the layer's inputs
  NormWeights input_after_norm;
  at::Tensor output_scale;  // (1)
};

// The experts that each token was routed to, (B·T, k) each; (B, T, k) in a LayerRecord.
struct Routing {
  at::Tensor experts;  // int64
  at::Tensor weights;  // float32
};

// Form of the norms around branches, which is also that of norms within them.
struct NormForm {
  Norm norm = Norm::kRms;
  double eps = 1e-5;
};

// down(activation(gate x) ⊙ up x) or down(activation(up x)), (…, C) -> (…, C).
at::Tensor feed_forward(const FeedForwardSpec& spec, const FeedForwardWeights& weights, const at::Tensor& x,
                        NormForm norm = {});
// The same through each token's experts. `routing` receives the experts of each token; may be null.
at::Tensor feed_forward(const FeedForwardSpec& spec, const ExpertWeights& weights, const at::Tensor& x,
                        Routing* routing, NormForm norm = {});

class Continued;

// Tensors of one layer that observe() keeps; of a layer without attention, those of attention are undefined.
struct LayerRecord {
  position::Prepared prepared;
  position::State state;   // entering the layer; its table is shared between layers unless the encoding updates it
  at::Tensor log_sum_exp;  // (B, H, T) float32, or float64 where scores may be large
  at::Tensor chosen;       // (B, H, T) int64; hard attention only
  at::Tensor hidden;       // (B, T, C) entering the layer; only with ObserveOptions::hidden
  at::Tensor value;        // (B, Hkv, T, Dv); only with ObserveOptions::values
  Routing routing;         // only with ObserveOptions::routing, in layers with experts
  // Of a layer with a mixer: its map, of a batch of one, and its marks, only with ObserveOptions::values.
  std::shared_ptr<const mixers::ImpliedMap> implied;
  std::vector<MixerMark> marks;
};

using Attend = std::function<Result<attention::Attended>(std::int64_t layer, const position::Prepared& prepared,
                                                         const at::Tensor& value, const at::Tensor& state_values)>;

// Vectors that a layer wrote into some rows of the stream, and the inputs of its norms there (direct_path.h).
struct LayerWrites {
  Range rows = {};          // rows of x, R in all; empty: every row that the layer outputs
  at::Tensor entering;      // (B, R, C)
  at::Tensor heads;         // (B, R, H·Dv), the input of the output projection
  at::Tensor attention;     // (B, R, C) after the output projection, before the branch's output norm or convolution
  at::Tensor mixer;         // (B, R, C) what a mixer adds to that; undefined without
  at::Tensor middle;        // (B, R, C) the stream with the attention branch added, before a post-norm
  at::Tensor feed_forward;  // (B, R, C) before the branch's output norm or convolution
  at::Tensor leaving;       // (B, R, C) the stream with the feed-forward branch added, before a post-norm
  at::Tensor input;         // (B, R, C) the branch of the layer's inputs, before its norm; undefined without
};

// Inputs of a layer's cross-attention.
struct CrossRun {
  const position::PositionEncoding& encoding;  // the encoding `none`
  const at::Tensor& memory;                    // (B, K, C) encoder states
  const Attend& attend;
  LayerRecord* record = nullptr;  // may be null
};

// Keys and values before the encoding, by layer; undefined of layers that no other attends to.
using SharedKeys = std::vector<position::Projections>;

// Inputs of a layer.
struct LayerRun {
  const position::PositionEncoding& encoding;  // encoding of this layer
  std::int64_t encoding_layer = 0;             // number of this layer among the layers with that encoding
  position::State& state;  // state of that encoding; in a continued run, for the tokens after the reused prefix
  const Attend& attend;
  LayerRecord* record = nullptr;  // may be null
  // Last layer only, where it has no convolutions: compute only these rows of the output; empty: all rows.
  Range output_rows = {};
  Continued* continued = nullptr;         // may be null; x then holds only the tokens after the reused prefix
  Routing* routing = nullptr;             // may be null
  const CrossRun* cross = nullptr;        // set for layers with cross-attention
  LayerWrites* writes = nullptr;          // may be null
  SharedKeys* shared = nullptr;           // of all layers
  at::Tensor input = {};                  // (B, T, P), the layer's own input; undefined for models without
  bool marks = false;                     // the record gets the marks of a mixer
  const MixerEdit* mixer_edit = nullptr;  // may be null
};

class Block {
 public:
  Block(const Spec& spec, std::int64_t index);

  std::int64_t index() const { return index_; }
  const LayerSpec& spec() const { return layer_; }
  Mixer* mixer() { return mixer_.get(); }  // null where the layer has none
  LayerWeights& weights() { return weights_; }
  const LayerWeights& weights() const { return weights_; }

  // The keys that the queries attend to.
  attention::Mask mask() const;
  // (B, T, C), the input of the attention: x after a pre-norm, where the layer has one.
  at::Tensor attention_input(const at::Tensor& x) const {
    return before(layer_.attention_norm) ? norm(x, weights_.attention_norm) : x;
  }
  // Queries, keys and values of that input for tokens at these positions, before the encoding is applied. Keys and
  // values are undefined in a layer that attends to those of another. `earlier` (B, 1, C): the input of the token before
  // the first, where there is one and tokens are shifted.
  position::Projections project(const at::Tensor& input, const position::PositionEncoding& encoding,
                                const position::Positions& positions, const at::Tensor& earlier = {}) const;
  // (B, T, C) -> (B, T, C). Errors: those of `run.attend`.
  Result<at::Tensor> operator()(const at::Tensor& x, const LayerRun& run) const;

 private:
  at::Tensor norm(const at::Tensor& x, const NormWeights& weights) const;
  at::Tensor split_value(const at::Tensor& x) const;
  at::Tensor norm_after(const at::Tensor& x, const NormWeights& weights) const;
  // (B, R, H·2D) -> (B, R, H·D), the differences of the pairs of heads (AttentionSpec::difference).
  at::Tensor differences(const at::Tensor& heads) const;
  // The attention's output (B, R, H·Dv) through its gate; `input` (B, R, C).
  at::Tensor gated(const at::Tensor& heads, const at::Tensor& input) const;
  position::Projections project_latent(const at::Tensor& x) const;
  // Norm of the attention's output (B, R, H·Dv), of all heads or of each by itself.
  at::Tensor output_normed(const at::Tensor& heads) const;
  // Keys or values (B, T, Hkv·D) by `weights` of x, each with its share of the one before (AttentionSpec::key_shift).
  at::Tensor shifted(const at::Tensor& x, const at::Tensor& earlier, const Linear& weights, const Linear& shift) const;
  // Splits q or k (B, T, H·D) into heads and normalises it before or after the split, as the layer's QueryNorm says.
  at::Tensor split_normed(const at::Tensor& x, std::int64_t heads, const std::vector<NormWeights>& weights) const;
  at::Tensor scaled_query(const at::Tensor& query, const position::PositionEncoding& encoding,
                          const position::Positions& positions) const;
  // Output of the attention for run.output_rows (or all rows), before the output projection; fills `seen`.
  Result<attention::Attended> attend(const at::Tensor& normed, const LayerRun& run, LayerRecord& seen,
                                     at::Tensor& state_values) const;
  // The branch that mixes tokens, (B, R, C), R run.output_rows or all: attention, mixer or both. `attended` and
  // `state_values` are those of the attention.
  Result<at::Tensor> mix(const at::Tensor& normed, const LayerRun& run, LayerRecord& seen,
                         attention::Attended& attended, at::Tensor& state_values) const;
  // (B, T, C) -> (B, T, C) through the mixer, whose map and marks go to the record.
  at::Tensor through_mixer(const at::Tensor& x, const LayerRun& run) const;
  // The rows of x that the run outputs: run.output_rows along `axis`, or all.
  static at::Tensor wanted(const at::Tensor& x, std::int64_t axis, const LayerRun& run);
  // Copies rows to the run's writes, where it keeps them: branches are overwritten.
  static void keep(at::Tensor LayerWrites::*to, const at::Tensor& rows, const LayerRun& run);
  // x plus the cross-attention to the encoder states.
  Result<at::Tensor> cross(const at::Tensor& x, const LayerRun& run) const;
  // The stream `middle` (B, R, C) with the feed-forward's branch added, through its norms; x entered the layer.
  at::Tensor fed(const at::Tensor& normed, const at::Tensor& x, at::Tensor middle, const LayerRun& run) const;
  at::Tensor feed(const at::Tensor& x, const LayerRun& run) const;
  // The branch of the layer's input (rows of x) before its norm.
  at::Tensor read_input(const at::Tensor& x, const at::Tensor& input) const;

  std::int64_t index_;
  LayerSpec layer_;
  bool causal_;
  NormForm norm_;
  double after_eps_;
  bool is_source_;
  double residual_scale_;
  LayerWeights weights_;
  std::unique_ptr<Mixer> mixer_;
};

}  // namespace locus::transformer
