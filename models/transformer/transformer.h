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
//   patch_position [N, C]   patch_norm.{weight, bias}   patch.weight [C, channels, frames, P, P] of patches with frames
//   layers.N.{attention_norm, attention_after_norm, feed_forward_norm, feed_forward_after_norm}.*
//   layers.N.attention.qkv.{weight [(H+2Hkv)·D, C], bias}   layers.N.attention.{query, key, value}.*
//   layers.N.attention.{query_down, query_up, latent_down, latent_up}.weight   layers.N.attention.{query_latent_norm,
//     latent_norm}.weight
//   layers.N.attention.{query_norm, key_norm}[.HEAD].{weight, bias}   layers.N.attention.sinks [H]
//   layers.N.attention.output.{weight [C, H·D], bias}
//   layers.N.cross_norm.*   layers.N.cross.{query, key, value, output}.*
//   layers.N.feed_forward.{gate, up [I, C], down [C, I]}.*
//   layers.N.feed_forward.{router.*, correction [E], experts.E.{gate, up, down}.*, shared.{gate, up, down}.*,
//     shared_gate.weight}
//   layers.N.{attention_scale, feed_forward_scale} [C]
//   convolution.{weight [C, C / groups, kernel], bias}   convolution_norm.*
//   final_norm.*   head_transform.*   head_norm.*   head.{weight [V, C], bias}   distillation_head.{weight [V, C],
//   bias} position.<the encoding's own parameter names>; those of further encodings position.1.<…>, position.2.<…>
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
#include "models/transformer/block.h"
#include "models/transformer/layer_edit.h"
#include "models/transformer/spec.h"

namespace locus::transformer {

// A trainable tensor, its name and the shape it must have.
struct Parameter {
  std::string name;
  std::vector<std::int64_t> shape;
  at::Tensor* value = nullptr;
  bool product = false;  // read by products alone, a row at a time too: may stay as stored (core/products/linear.h)
};

// What pictures put into a text: vectors in place of tokens' embeddings.
struct ImageRows {
  at::Tensor tokens;              // (N) int64, ascending: whose embedding is replaced, in every sequence
  at::Tensor vectors;             // (N, C), or (B, N, C) for a batch
  std::vector<at::Tensor> added;  // likewise each: K is added to those tokens after layer K
};

// What goes in: token ids (B, T) int64, or pixels (B, channels, height, width) float32 already normalised, or rows of
// patches (B, P, …) as ImageStem::frames says.
struct Batch {
  at::Tensor ids;
  at::Tensor pixels;
  position::Positions positions;                      // of all T tokens; see Transformer::positions()
  at::Tensor memory = {};                             // (B, K, C) an encoder's states, for layers with cross-attention
  std::shared_ptr<const LayerEdits> edits = nullptr;  // of this run; null: none
  std::shared_ptr<const ImageRows> images = nullptr;  // of a text with pictures in it
  // Tokens that see each other whatever their order; those of layers with tiles. Null: none.
  std::shared_ptr<const attention::Blocks> blocks = nullptr;
  std::shared_ptr<const attention::Blocks> tiles = nullptr;
};

class RowStore;

// What observe() may take over: the records, values included, of a run whose first `tokens` ids and positions are those
// of the new batch.
struct ReusedTokens {
  std::vector<LayerRecord> layers;
  std::int64_t tokens = 0;
  std::shared_ptr<RowStore> rows = nullptr;  // where they lie; null where in no store
};

// What observe() may take over of a run of the same batch whose first layers were edited as the new one's: their
// records, and what enters the layer after them.
struct ReusedLayers {
  std::vector<LayerRecord> layers;
  at::Tensor hidden;                   // (B, T, C)
  std::vector<position::State> after;  // entering each further layer
};

struct Observation;

struct ObserveOptions {
  bool hidden = false;
  bool values = false;
  bool routing = false;     // which experts the tokens went to
  bool all_logits = false;  // of every token instead of the last one (text); classes of an image are one row always
  Range read = {};          // logits of these tokens instead (text; without reused tokens)
  bool writes = false;      // what each layer writes into the rows that the head reads
  // Taken over where that gives the same numbers; may be null. Not by edited runs.
  const ReusedTokens* reused_tokens = nullptr;
  const ReusedLayers* reused_layers = nullptr;  // instead of tokens; may be null
  StopToken stop = {};
  Progress progress = {};            // by the work that is done, within layers too
  std::function<void()> pause = {};  // called between parts of the run, where its thread may do other work
  // Told each layer that is done, when all that is kept of it is in `seen`. Not of a run that continues another.
  std::function<void(const Observation& seen, std::int64_t layer)> layer_done = {};
};

struct Observation {
  std::vector<LayerRecord> layers;
  std::vector<LayerRecord> cross;  // of each layer's cross-attention, where it has one; prepared.key is of K states
  at::Tensor logits;  // (B, T or 1, V); (B, 1, classes) for images; (B, T, C) states of a model without head
  std::vector<LayerWrites> writes;  // of each layer; only when asked
  at::Tensor stream;                // (B, R, C) that the head read; only when asked for writes
  std::int64_t reused = 0;          // tokens that were reused
  std::int64_t kept_layers = 0;     // layers that were reused
  std::shared_ptr<RowStore> rows;   // for a next run's ReusedTokens
};

struct DirectPath;
struct OutputWeight;

// A position encoding of a model and the layers that have it, in ascending order: it counts these alone.
struct LayerEncoding {
  std::shared_ptr<position::PositionEncoding> encoding;
  std::vector<std::int64_t> layers;
};

class Transformer {
 public:
  // Parameters undefined (`fresh` false, for loaders) or initialised from `seed`: normal(0, 0.02), residual outputs
  // scaled by 1/√(2L), norms 1, biases 0, the encoding's own as its paper says. Errors: those of validate() and
  // make_encoding().
  static Result<std::unique_ptr<Transformer>> create(const Spec& spec, bool fresh = true, std::uint64_t seed = 0);

  const Spec& spec() const { return spec_; }
  // The first of the spec's encodings: that of models which have but one.
  const position::PositionEncoding& encoding() const { return *encodings_.front().encoding; }
  // The encodings of the spec in their order, then none for the layers without.
  const std::vector<LayerEncoding>& encodings() const { return encodings_; }
  // Every encoding's (position_encoding.h).
  void drop_unseen(const position::Positions& positions) {
    for (const LayerEncoding& each : encodings_) {
      if (each.encoding != nullptr) {
        each.encoding->drop_unseen(positions);
      }
    }
  }
  // A layer's own: its index in encodings(), itself, and the layer's number among those that have it.
  std::int64_t slot(std::int64_t layer) const { return places_[static_cast<std::size_t>(layer)].slot; }
  std::shared_ptr<const position::PositionEncoding> layer_encoding(std::int64_t layer) const {
    return encodings_[static_cast<std::size_t>(slot(layer))].encoding;
  }
  std::int64_t encoding_layer(std::int64_t layer) const { return places_[static_cast<std::size_t>(layer)].number; }
  // What the layer is run with: its own encoding, or the edited one of this batch, and its sinks (H) or none.
  std::shared_ptr<const position::PositionEncoding> encoding_of(const Batch& batch, std::int64_t layer) const;
  at::Tensor sinks_of(const Batch& batch, std::int64_t layer) const;
  // What caps the logits beside that encoding; 0: nothing.
  double soft_cap_of(const Batch& batch, std::int64_t layer) const;
  // kBadInput when one of the encodings cannot take these positions.
  Status accepts(const position::Positions& positions) const;

  // Every parameter this spec has, in a fixed order. Assign through the pointers; set requires_grad to train.
  std::vector<Parameter> parameters();
  // Moves every parameter.
  void to(at::Device device);

  // start … start + T − 1 for text; the patch grid behind class and register tokens for an image of rows × columns
  // patches.
  position::Positions positions(std::int64_t length, double start = 0) const;
  position::Positions grid_positions(std::int64_t rows, std::int64_t columns) const;
  // The patches in the order of the stem's pixels that are of one tile of tile × tile; null without layers that have
  // tiles.
  std::shared_ptr<const attention::Blocks> tiles(const position::Positions& grid) const;
  const Block& block(std::int64_t layer) const { return blocks_[static_cast<std::size_t>(layer)]; }
  // None: of cross-attention, whose keys all queries see; null where no layer has it.
  std::shared_ptr<const position::PositionEncoding> cross_encoding() const { return cross_encoding_; }
  // Which keys the queries of a layer see.
  attention::Mask mask(const Batch& batch, std::int64_t layer) const;
  // Class and register tokens in front of the patches; 0 for text.
  std::int64_t prefix_tokens() const { return spec_.is_image() ? spec_.image.class_tokens + spec_.image.registers : 0; }

  // A text's stem in parts, so that tokens and places need not meet one by one: what enters the first layer is
  // enter(embedded(ids) + placed(positions)). (…, E) of any ids, with what every token has alike.
  at::Tensor embedded(const at::Tensor& ids) const;
  // (T, E) that the encodings add at these positions; undefined where none adds anything.
  at::Tensor placed(const position::Positions& positions) const;
  // (…, E) -> (…, C): the embedding's norm and projection, where there are any.
  at::Tensor enter(const at::Tensor& x) const;
  // That norm, of models which have one.
  const NormWeights& embedding_norm() const { return embedding_norm_; }
  // (…, E) -> (…, C): that projection alone.
  at::Tensor widened(const at::Tensor& x) const;

  // Final norm and head of the rows of `x` (B, R, C), a stream between layers or after them.
  at::Tensor head(const at::Tensor& x) const;
  // What the parts of a run wrote into one output (direct_path.h).
  Result<DirectPath> direct_path(const Batch& batch, const Observation& seen, Range rows,
                                 const std::vector<OutputWeight>& outputs) const;

  // Logits (B, T, V), or (B, 1, classes) for images, or states without a head (B, T, C); differentiable. The caller has
  // checked ids and accepts().
  at::Tensor forward(const Batch& batch) const;
  // forward() with these attention weights, (B, H, T, T) a layer, in place of the soft-max's: what shown maps imply;
  // those of cross-attention are (B, H, T, K).
  using GivenWeights = std::function<Result<at::Tensor>(std::int64_t layer)>;
  Result<at::Tensor> replay(const Batch& batch, const GivenWeights& weights,
                            const GivenWeights& cross_weights = {}) const;
  // The outcome likewise, or by whole maps where no weights are given, and what enters each layer.
  Result<at::Tensor> replay_states(const Batch& batch, const GivenWeights& weights,
                                   std::vector<at::Tensor>& states) const;
  // The same numbers without any (T, T) map, under no-grad. Errors: kCancelled, and accepts()'s.
  Result<Observation> observe(const Batch& batch, const ObserveOptions& options = {}) const;

 private:
  // Where a layer finds its encoding.
  struct Place {
    std::int64_t slot = 0;
    std::int64_t number = 0;
  };

  explicit Transformer(Spec spec) : spec_(std::move(spec)) {}
  Status make_encodings();
  void initialise();

  std::vector<position::State> begin(const position::Positions& positions, std::int64_t batch) const;
  // What a layer attends with.
  attention::Attention attention(const Batch& batch, std::int64_t layer, const position::Prepared& prepared,
                                 const at::Tensor& value, const at::Tensor& state_values) const;
  // What was attended, as the batch's edits leave it.
  static attention::Attended edited(const Batch& batch, std::int64_t layer, attention::Attended attended);
  attention::Attention cross_attention(std::int64_t layer, const position::Prepared& prepared,
                                       const at::Tensor& value) const;
  at::Tensor embed(const Batch& batch, const std::vector<position::State>& states, std::int64_t first = 0) const;
  // What enters the first layer that is run, and the states there.
  at::Tensor reuse_layers(const ReusedLayers& reused, std::vector<position::State>& states,
                          Observation& observation) const;
  at::Tensor embed_image(const Batch& batch) const;
  at::Tensor embed_patches(const Batch& batch) const;
  // The embeddings of the tokens from `first` on, with those of pictures in their places; x after a layer likewise with
  // what is added there.
  static at::Tensor with_images(const Batch& batch, std::int64_t first, at::Tensor x);
  static at::Tensor with_images_after(const Batch& batch, std::int64_t layer, std::int64_t first, at::Tensor x);
  at::Tensor norm(const at::Tensor& x, const NormWeights& weights) const;
  // x behind `layer`, with the convolution of what entered the first one added there; `rows`: those that x has of it.
  at::Tensor convolved(const at::Tensor& entered, std::int64_t layer, Range rows, at::Tensor x) const;
  // Embedding, all layers, head.
  Result<at::Tensor> run_whole(const Batch& batch, const Attend& attend, const Attend& cross,
                               std::vector<at::Tensor>* entering = nullptr) const;
  // The tokens of the last layer that the head reads; empty: all.
  Range read_tokens(std::int64_t length, const ObserveOptions& options) const;
  at::Tensor pooled(const at::Tensor& x) const;
  // (1, C, rows, columns) embedding of where patches stand; undefined where there is none.
  at::Tensor patch_places(const Batch& batch, std::int64_t rows, std::int64_t columns) const;
  // What is added up before the first layer, of these rows; see direct_path.h.
  std::vector<std::pair<std::string, at::Tensor>> stem_parts(const Batch& batch, Range rows) const;
  // What of the stream `rows` (R, C) makes this output; the constant beside it is added to `biases`.
  at::Tensor read_direction(const OutputWeight& output, const at::Tensor& rows, double& biases) const;

  Spec spec_;
  std::vector<LayerEncoding> encodings_;
  std::shared_ptr<const position::PositionEncoding> cross_encoding_;
  std::vector<Place> places_;  // of each layer
  at::Tensor embedding_;
  at::Tensor token_type_;
  NormWeights embedding_norm_;
  Linear embedding_projection_;
  Linear patch_;
  NormWeights patch_norm_;
  at::Tensor patch_position_;
  at::Tensor class_token_;
  at::Tensor distillation_token_;
  at::Tensor register_tokens_;
  std::vector<Block> blocks_;
  Linear convolution_;
  NormWeights convolution_norm_;
  NormWeights final_norm_;
  Linear head_transform_;
  NormWeights head_norm_;
  Linear head_;
  Linear distillation_head_;
};

// The model's spec with every option of its encodings, as config.json and traces write them.
Spec full_spec(const Transformer& model);

}  // namespace locus::transformer
