// Transformer: decoder, masked encoder and ViT in one class; what differs is in the Spec. Training and inference use
// the same blocks and the same position encoding; only the attention driver differs:
//   forward()  whole (T, T) maps, differentiable: for training and as the independent check of the other
//   observe()  streaming, no gradients, O(T) memory: for the app; keeps what score maps are made of
//
// Letters: B batch, T tokens, C width, V vocabulary, H heads, D head width.
//
// Parameters, by the names Locus's own checkpoints use (weights are [out, in]: y = x Wᵀ + b):
//   embedding.weight [V, C]                      token_type.weight [types, C]      embedding_norm.{weight, bias}
//   patch.{weight [C, channels, P, P], bias}     class_token [C]   register_tokens [n, C]   patch_position [N, C]
//   layers.N.attention_norm.*                    layers.N.attention.qkv.{weight [(H+2Hkv)·D, C], bias}
//   layers.N.attention.{query, key, value}.*     layers.N.attention.output.{weight [C, H·D], bias}
//   layers.N.feed_forward_norm.*                 layers.N.feed_forward.{gate, up [I, C], down [C, I]}.*
//   layers.N.{attention_scale, feed_forward_scale} [C]
//   final_norm.*   head_transform.*   head_norm.*   head.{weight [V, C], bias}
//   position.<the encoding's own parameter names>
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
#include "models/transformer/spec.h"

namespace locus::transformer {

// y = x·weightᵀ + bias; bias may be undefined. A Conv1D checkpoint's [in, out] weight is held as its transposed view.
struct Linear {
  at::Tensor weight;
  at::Tensor bias;
};

struct NormWeights {
  at::Tensor weight;
  at::Tensor bias;  // undefined for RMSNorm
};

struct Layer {
  NormWeights attention_norm;
  Linear qkv;                // kFused, kPerHead
  Linear query, key, value;  // kSeparate
  Linear output;
  at::Tensor attention_scale;
  NormWeights feed_forward_norm;
  Linear gate, up, down;
  at::Tensor feed_forward_scale;
};

// A trainable tensor, its name and the shape it must have.
struct Parameter {
  std::string name;
  std::vector<std::int64_t> shape;
  at::Tensor* value = nullptr;
};

// What goes in: token ids (B, T) int64, or pixels (B, channels, height, width) float32 already normalised.
struct Batch {
  at::Tensor ids;
  at::Tensor pixels;
  position::Positions positions;  // of all T tokens; see Transformer::positions()
};

class Continued;
class RowStore;

// What observe() keeps of one layer.
struct LayerRecord {
  position::Prepared prepared;
  position::State state;   // entering the layer; its table is shared between layers unless the encoding updates it
  at::Tensor log_sum_exp;  // (B, H, T) float32
  at::Tensor chosen;       // (B, H, T) int64; hard attention only
  at::Tensor hidden;       // (B, T, C) entering the layer; only when asked
  at::Tensor value;        // (B, Hkv, T, D); only when asked
};

// What observe() may take over: the records, values included, of a run whose first `tokens` ids and positions are those
// of the new batch.
struct Past {
  std::vector<LayerRecord> layers;
  std::int64_t tokens = 0;
  std::shared_ptr<RowStore> rows = nullptr;  // where they lie; null where in no store
};

struct ObserveOptions {
  bool hidden = false;
  bool values = false;
  bool all_logits = false;     // of every token instead of the last one (text); classes of an image are one row always
  const Past* past = nullptr;  // taken over where that gives the same numbers; may be null
  StopToken stop;
  Progress progress;
};

struct Observation {
  std::vector<LayerRecord> layers;
  at::Tensor logits;               // (B, T or 1, V); (B, 1, classes) for images
  std::int64_t reused = 0;         // tokens taken over from the past
  std::shared_ptr<RowStore> rows;  // for a next run's Past
};

class Transformer {
 public:
  // Parameters undefined (`fresh` false, for loaders) or initialised from `seed`: normal(0, 0.02), residual outputs
  // scaled by 1/√(2L), norms 1, biases 0, the encoding's own as its paper says. Errors: those of validate() and
  // make_encoding().
  static Result<std::unique_ptr<Transformer>> create(const Spec& spec, bool fresh = true, std::uint64_t seed = 0);

  const Spec& spec() const { return spec_; }
  const position::PositionEncoding& encoding() const { return *encoding_; }
  std::shared_ptr<const position::PositionEncoding> shared_encoding() const { return encoding_; }

  // Every parameter this spec has, in a fixed order. Assign through the pointers; set requires_grad to train.
  std::vector<Parameter> parameters();
  // Moves every parameter.
  void to(at::Device device);

  // start … start + T − 1 for text; the patch grid behind class and register tokens for an image of rows × columns
  // patches.
  position::Positions positions(std::int64_t length, double start = 0) const;
  position::Positions grid_positions(std::int64_t rows, std::int64_t columns) const;
  // Which keys the queries of a layer see.
  attention::Mask mask(std::int64_t layer) const;
  // Class and register tokens in front of the patches; 0 for text.
  std::int64_t prefix_tokens() const { return spec_.is_image() ? 1 + spec_.image.registers : 0; }

  // Logits (B, T, V), or (B, 1, classes) for images; differentiable. The caller has checked ids and accepts().
  at::Tensor forward(const Batch& batch) const;
  // forward() with these attention weights, (B, H, T, T) a layer, in place of the soft-max's: what shown maps imply.
  Result<at::Tensor> replay(const Batch& batch,
                            const std::function<Result<at::Tensor>(std::int64_t layer)>& weights) const;
  // The same numbers without any (T, T) map, under no-grad. Errors: kCancelled, and accepts()'s.
  Result<Observation> observe(const Batch& batch, const ObserveOptions& options = {}) const;

 private:
  using Attend = std::function<Result<attention::Attended>(std::int64_t layer, const position::Prepared& prepared,
                                                           const at::Tensor& value, const at::Tensor& state_values)>;

  explicit Transformer(Spec spec) : spec_(std::move(spec)) {}
  void initialise();

  at::Tensor embed(const Batch& batch, const position::State& state) const;
  at::Tensor embed_image(const at::Tensor& pixels) const;
  position::Projections project(const Layer& layer, const at::Tensor& x) const;
  at::Tensor feed_forward(const Layer& layer, const at::Tensor& x) const;
  at::Tensor normalise(const at::Tensor& x, const NormWeights& norm) const;
  // Embedding, all layers, head.
  Result<at::Tensor> run_whole(const Batch& batch, const Attend& attend) const;
  // One layer; `record` and `continued` may be null. Of a continued run x and `state` are those of the tokens after the
  // past. Of the last layer only the output of `output_rows` (of x) is computed; empty: all.
  Result<at::Tensor> run_layer(std::int64_t index, const at::Tensor& x, position::State& state, const Attend& attend,
                               LayerRecord* record, Range output_rows, Continued* continued = nullptr) const;
  // Final norm and head of the rows of `x`.
  at::Tensor head(const at::Tensor& x) const;

  Spec spec_;
  std::shared_ptr<position::PositionEncoding> encoding_;
  at::Tensor embedding_;
  at::Tensor token_type_;
  NormWeights embedding_norm_;
  Linear patch_;
  at::Tensor patch_position_;
  at::Tensor class_token_;
  at::Tensor register_tokens_;
  std::vector<Layer> layers_;
  NormWeights final_norm_;
  Linear head_transform_;
  NormWeights head_norm_;
  Linear head_;
};

// (…, in) · weightᵀ + bias in one product.
at::Tensor linear(const at::Tensor& x, const Linear& weights);

}  // namespace locus::transformer
