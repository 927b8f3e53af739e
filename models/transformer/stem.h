// Stem: what enters the first layer — embeddings of tokens, or of an image's patches behind class and register tokens.
//
// Letters: B batch, T tokens, C width, E width of the embedding (C where there is no projection), V vocabulary.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "models/transformer/batch.h"
#include "models/transformer/block.h"
#include "models/transformer/layer_encodings.h"
#include "models/transformer/parameter_list.h"
#include "models/transformer/spec.h"
#include "models/transformer/stage.h"

namespace locus::transformer {

class Stem {
 public:
  explicit Stem(std::shared_ptr<const Spec> spec) : spec_(std::move(spec)) {}

  // Makes the stages before the layers, where the spec has some; to be called once, first. Errors: Stage::create()'s.
  Status make_stages();

  // Appends the parameters that `spec` has; names as in transformer.h.
  void collect(ParameterList& list);

  // (B, T, C), the input of the first layer for the tokens from `first` on, with these states of the encodings.
  at::Tensor embed(const Batch& batch, const LayerEncodings& encodings, const std::vector<position::State>& states,
                   std::int64_t first = 0) const;

  // A text's stem in parts, so that tokens and positions can be combined without computing every pair: what enters the
  // first layer is enter(embedded(ids) + encodings.embedding(positions)). (…, E) of any ids, after an early norm.
  at::Tensor embedded(const at::Tensor& ids) const;
  // (…, E) -> (…, C): the embedding's norm, unless it is early, and projection, where the model has them.
  at::Tensor enter(const at::Tensor& x) const;
  // (…, E) -> (…, C): the projection only.
  at::Tensor widened(const at::Tensor& x) const;

  // (B, T, E) from tokens or patches, before scale, pictures in the text, token type and positions; includes the
  // learned position table of patches.
  at::Tensor content(const Batch& batch) const;
  // (1, C, rows, columns) of the learned position table of patches, resampled to the image's grid; undefined without.
  at::Tensor patch_positions(const Batch& batch, std::int64_t rows, std::int64_t columns) const;

  const at::Tensor& token_embedding() const { return embedding_; }  // (V, E)
  at::Tensor token_type() const;                                    // (E) of type 0; undefined without token types
  // (B, T, P), the inputs of this layer (LayerInputs) for the tokens of a batch, from what embed() returned for them.
  at::Tensor layer_input(std::int64_t layer, const at::Tensor& ids, const at::Tensor& embedded) const;
  const NormWeights& embedding_norm() const { return embedding_norm_; }
  const Linear& embedding_projection() const { return embedding_projection_; }

 private:
  at::Tensor embed_image(const Batch& batch) const;
  at::Tensor norm(const at::Tensor& x, const NormWeights& weights) const {
    return normalise(x, weights, spec_->norm, spec_->norm_eps);
  }

  std::shared_ptr<const Spec> spec_;
  at::Tensor embedding_;
  at::Tensor token_type_;
  NormWeights embedding_norm_;
  Linear embedding_projection_;
  at::Tensor input_embedding_;
  Linear input_projection_;
  NormWeights input_norm_;
  Linear patch_;
  NormWeights patch_norm_;
  std::vector<std::unique_ptr<Stage>> stages_;
  at::Tensor first_position_;  // (N, C), of the first stage before
  at::Tensor patch_position_;
  at::Tensor class_token_;  // (C), or (n, C) of more than two
  at::Tensor distillation_token_;
  at::Tensor register_tokens_;
  at::Tensor detection_tokens_;
};

}  // namespace locus::transformer
