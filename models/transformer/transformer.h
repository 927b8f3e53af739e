// Transformer: decoder, masked encoder and ViT in one class; what differs is in the Spec. Training and inference use
// the same blocks and the same position encoding; only the attention driver differs:
//   forward()  whole (T, T) maps, differentiable: for training and as the independent check of the other
//   observe()  streaming, no gradients, O(T) memory: for the app; keeps what score maps are made of
//
// Letters: B batch, T tokens, C width, V vocabulary, H heads, D head width.
//
// Parameters, by the names Locus's own checkpoints use (weights are [out, in]: y = x Wᵀ + b):
//   embedding.weight [V, C]                      token_type.weight [types, C]      embedding_norm.{weight, bias}
//   embedding_projection.{weight [C, E], bias}, where the above have a width E of their own
//   patch.{weight [C, channels, P, P], bias}     class_token [C]   distillation_token [C]   register_tokens [n, C]
//   class_token [n, C] of more than two, without distillation_token   detection_tokens [n, C]
//   patch_position [N, C]   patch_norm.{weight, bias}   patch.weight [C, channels, frames, P, P] of patches with frames
//   before.K.{layers.N.*, position.*, merge_norm.*, merge.weight [C', 4C]} of the stages of a tower before the layers, with
//   the names of a model of their own; in place of merge (Hiera) next.{attention_norm, feed_forward_norm}.*,
//   next.{shortcut [C', C], attention.qkv [3C', C], attention.output, feed_forward.up, feed_forward.down}.*, and
//   before.position [N, C] of the first of them
//   layers.N.{attention_norm, attention_after_norm, feed_forward_norm, feed_forward_after_norm}.*
//   layers.N.attention.qkv.{weight [(H+2Hkv)·D, C], bias}   layers.N.attention.{query, key, value}.*
//   layers.N.attention.{query_down, query_up, latent_down, latent_up}.weight   layers.N.attention.{query_latent_norm,
//     latent_norm}.weight
//   layers.N.attention.{query_norm, key_norm}[.HEAD].{weight, bias}   layers.N.attention.sinks [H]
//   layers.N.attention.{key_shift, value_shift}.weight [Hkv, C]
//   layers.N.attention.{key_convolution, value_convolution}.weight [Hkv·D, K]
//   layers.N.{attention_convolution, feed_forward_convolution}.weight [C, K]
//   layers.N.attention.output.{weight [C, H·D], bias}
//   layers.N.cross_norm.*   layers.N.cross.{query, key, value, output}.*
//   layers.N.feed_forward.{gate, up [I, C], down [C, I]}.*
//   layers.N.feed_forward.{router.*, correction [E], experts.E.{gate, up, down}.*, shared.{gate, up, down}.*,
//     shared_gate.weight, always.A.{gate, up, down}.*}   layers.N.feed_forward.output_scale [1]
//   layers.N.{attention_scale, feed_forward_scale} [C]   layers.N.output_scale [1]
//   layers.N.{attention.{query, key, value, output}, feed_forward.{gate, up, down}}.bounds [4]
//   layers.N.attention.output_norm.*   layers.N.feed_forward.inner_norm.*   layers.N.feed_forward.{alpha_p, alpha_n} [1]
//   layers.N.feed_forward.{beta, eps} []
//   layer_inputs.embedding.weight [V, L·P]   layer_inputs.projection.weight [L·P, C]   layer_inputs.norm.*
//   layers.N.input.{gate.weight [P, C], down.weight [C, P], after_norm.*}
//   convolution.{weight [C, C / groups, kernel], bias}   convolution_norm.*
//   low_state [C]
//   final_norm.*   state_projection.weight [E, C]   head_transform.*   head_norm.*   head.{weight [V, C], bias}   distillation_head.{weight [V, C],
//   bias} position.<the encoding's own parameter names>; those of further encodings position.1.<…>, position.2.<…>
//   position.after_layers.N.position_embedding, added behind layer N
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/attention/attend.h"
#include "core/base/progress.h"
#include "core/base/range.h"
#include "core/base/result.h"
#include "core/position/position_encoding.h"
#include "models/transformer/batch.h"
#include "models/transformer/block.h"
#include "models/transformer/head.h"
#include "models/transformer/layer_encodings.h"
#include "models/transformer/parameter_list.h"
#include "models/transformer/spec.h"
#include "models/transformer/stem.h"

namespace locus::transformer {

class RowStore;

// Reuse by observe() of a run's records, values and marks included, whose first `tokens` ids and positions are those of
// the new batch.
struct ReusedTokens {
  std::vector<LayerRecord> layers;
  std::int64_t tokens = 0;
  std::shared_ptr<RowStore> rows = nullptr;  // the store of the records; null where they are in none
};

// Reuse by observe() of a run on the same batch whose first layers had the same edits: their records (with values where
// layers share keys), and the input of the next layer.
struct ReusedLayers {
  std::vector<LayerRecord> layers;
  at::Tensor hidden;                   // (B, T, C) entering the layer after them
  std::vector<position::State> after;  // state entering each further layer; of those that attend
};

struct Observation;

struct ObserveOptions {
  bool hidden = false;
  // Values of attention, marks of mixers, and `hidden` where tokens are shifted, for a next run's ReusedTokens.
  bool values = false;
  bool routing = false;     // experts of each token
  bool all_logits = false;  // logits of every token instead of the last (text); an image always has one row of classes
  // Logits of these tokens instead (text; without reused tokens); of an image, the rows whose `writes` are kept.
  Range read = {};
  bool writes = false;       // each layer's contribution to the rows that the head reads
  bool before_head = false;  // Observation::stream instead of logits, of the same rows
  // Reused where that gives the same numbers; may be null. Ignored in edited runs.
  const ReusedTokens* reused_tokens = nullptr;
  const ReusedLayers* reused_layers = nullptr;  // instead of tokens; may be null
  StopToken stop = {};
  Progress progress = {};            // fraction of the work done, within layers too
  std::function<void()> pause = {};  // called between parts of the run, to let its thread do other work
  // Called after each layer, when everything kept of it is in `seen`; an error ends the run. Not called in a run that
  // continues another.
  std::function<Status(const Observation& seen, std::int64_t layer)> layer_done = {};
  bool keep_layers = true;  // false: of a layer's record the implied map alone is kept, once layer_done has returned
};

struct Observation {
  std::vector<LayerRecord> layers;
  std::vector<LayerRecord> cross;  // one per layer with cross-attention; prepared.key is that of the K encoder states
  at::Tensor logits;  // (B, T or 1, V); (B, 1, classes) for images; (B, T, C) states of a model without head
  std::vector<LayerWrites> writes;  // one per layer; only with ObserveOptions::writes
  at::Tensor stream;                // (B, R, C), the input of the head; only with ObserveOptions::writes or before_head
  std::int64_t reused = 0;          // tokens that were reused
  std::int64_t kept_layers = 0;     // layers that were reused
  std::shared_ptr<RowStore> rows;   // for a next run's ReusedTokens
};

class Transformer {
 public:
  // Makes a model whose parameters are undefined (`fresh` false, for loaders) or initialised from `seed`: normal(0,
  // 0.02), residual outputs scaled by 1/√(2L), norms 1, biases 0, an encoding's parameters as in its paper. Errors:
  // those of validate() and make_encoding().
  static Result<std::unique_ptr<Transformer>> create(const Spec& spec, bool fresh = true, std::uint64_t seed = 0);

  const Spec& spec() const { return *spec_; }
  const Stem& stem() const { return stem_; }
  const LayerEncodings& encodings() const { return encodings_; }
  const Block& block(std::int64_t layer) const { return blocks_[static_cast<std::size_t>(layer)]; }
  const Head& head() const { return head_; }

  // The first encoding of the spec: the only one of most models.
  const position::PositionEncoding& encoding() const { return *encodings_.front().encoding; }
  // A layer's encoding, and the layer's number among the layers that use it.
  std::shared_ptr<const position::PositionEncoding> layer_encoding(std::int64_t layer) const {
    return encodings_.of(layer);
  }
  std::int64_t encoding_layer(std::int64_t layer) const { return encodings_.number(layer); }
  // The encoding that this run uses in a layer: its own, or the edited one of the batch.
  std::shared_ptr<const position::PositionEncoding> encoding_of(const Batch& batch, std::int64_t layer) const;
  // The attention sinks (H) of that layer in this run; undefined without.
  at::Tensor sinks_of(const Batch& batch, std::int64_t layer) const;
  // The cap of its logits that the encoding does not apply itself; 0: none.
  double soft_cap_of(const Batch& batch, std::int64_t layer) const;
  // The keys that the queries of a layer attend to.
  attention::Mask mask(const Batch& batch, std::int64_t layer) const;
  // Errors: kBadInput where one of the encodings does not take these positions; kUnsupported for more tokens than
  // Spec::all_seen.
  Status accepts(const position::Positions& positions) const;

  // Every parameter of the spec, in a fixed order. Assign through the pointers; set requires_grad to train.
  std::vector<Parameter> parameters();
  // Moves every parameter.
  void to(at::Device device);
  // From now on products with matrices in blocks may round (products::Weights::fast).
  void use_fast_products();

  // start … start + T − 1 for text, or where the encoding puts so many tokens in evaluation; for an image of rows ×
  // columns patches the patch grid behind class and register tokens and before detection tokens.
  position::Positions positions(std::int64_t length, double start = 0) const;
  position::Positions grid_positions(std::int64_t rows, std::int64_t columns) const;
  // The patches, in the order of the stem's pixels, in groups of tile × tile for layers with attention tiles; null
  // where no layer has tiles.
  std::shared_ptr<const attention::Blocks> tiles(const position::Positions& grid) const;
  // Class and register tokens before the patches; 0 for text.
  std::int64_t prefix_tokens() const { return spec_->prefix_tokens(); }
  // Detection tokens behind the patches; 0 for text.
  std::int64_t suffix_tokens() const { return spec_->suffix_tokens(); }

  // Logits (B, T, V), or (B, 1, classes) for images, or states (B, T, C) without a head; differentiable. The caller has
  // checked ids and accepts().
  at::Tensor forward(const Batch& batch) const;
  // forward() with these attention weights, (B, H, T, T) per layer, (B, H, T, K) for cross-attention, in place of the
  // soft-max's: the outcome that the shown maps imply.
  using GivenWeights = std::function<Result<at::Tensor>(std::int64_t layer)>;
  Result<at::Tensor> replay(const Batch& batch, const GivenWeights& weights,
                            const GivenWeights& cross_weights = {}) const;
  // The same, by whole maps where no weights are given; adds to `states` what enters each layer.
  Result<at::Tensor> replay_states(const Batch& batch, const GivenWeights& weights,
                                   std::vector<at::Tensor>& states) const;
  // The same numbers without any (T, T) map, under no-grad. Errors: kCancelled, and accepts()'s.
  Result<Observation> observe(const Batch& batch, const ObserveOptions& options = {}) const;

 private:
  explicit Transformer(const Spec& spec)
      : spec_(std::make_shared<const Spec>(spec)), stem_(spec_), head_(spec_, stem_.token_embedding()) {}
  void initialise();

  // The inputs of a layer's attention.
  attention::Attention attention(const Batch& batch, std::int64_t layer, const position::Prepared& prepared,
                                 const at::Tensor& value, const at::Tensor& state_values) const;
  attention::Attention cross_attention(std::int64_t layer, const position::Prepared& prepared,
                                       const at::Tensor& value) const;
  // Copies reused layers to the observation; the stream, the states (through `states`) and the keys that enter the next
  // layer.
  at::Tensor reuse_layers(const ReusedLayers& reused, std::vector<position::State>& states, SharedKeys& shared,
                          Observation& observation) const;
  // The inputs (B, T, P) of a layer; undefined for models without.
  at::Tensor layer_input(std::int64_t layer, const at::Tensor& ids, const at::Tensor& entered) const;
  // x behind `layer`, plus the convolution of what entered layer 0 where the model has one; `rows`: those that x has.
  at::Tensor convolved(const at::Tensor& entered, std::int64_t layer, Range rows, at::Tensor x) const;
  // x behind `layer` of an image model, plus the positions that are added there.
  at::Tensor positioned(const Batch& batch, std::int64_t layer, at::Tensor x) const;
  // Stem, all layers, head.
  Result<at::Tensor> run_whole(const Batch& batch, const Attend& attend, const Attend& cross,
                               std::vector<at::Tensor>* entering = nullptr) const;
  // The tokens of the last layer that the head reads; empty: all.
  Range read_tokens(std::int64_t length, const ObserveOptions& options) const;

  std::shared_ptr<const Spec> spec_;
  Stem stem_;
  LayerEncodings encodings_;
  std::vector<Block> blocks_;
  Linear convolution_;
  NormWeights convolution_norm_;
  at::Tensor low_state_;  // (C), what the low state begins as, of a model whose layers run in rounds
  Head head_;
};

// The model's spec with every option of its encodings, as config.json and traces write them.
Spec full_spec(const Transformer& model);

}  // namespace locus::transformer
