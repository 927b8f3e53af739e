// VocabularyHead: what one layer projects of every token of a vocabulary, before any text.
//
// Letters: V tokens, E width of the embedding, C width of the stream, H heads, D head width.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <string>

#include "core/analysis/kernel_source.h"
#include "models/engine/loaded_model.h"
#include "models/engine/trace/recorded_trace.h"

namespace locus::models {

class VocabularyHead {
 public:
  // The side of `model` that `trace` is of. Errors: kUnsupported for images, kBadInput for a layer or head that does
  // not exist; those of loading.
  static Result<VocabularyHead> of(const Model& model, const Trace& trace, std::int64_t layer, std::int64_t head,
                                   const StopToken& stop);

  std::int64_t tokens() const { return model_->spec().vocabulary; }
  // (n) ids that are read: `sample` at equal steps where the vocabulary is more than four times as large and `sample` is
  // not 0, else all.
  at::Tensor ids(std::int64_t sample) const;
  std::string label(std::int64_t id) const { return data_->label ? data_->label(id) : std::to_string(id); }
  const std::shared_ptr<const position::PositionEncoding>& encoding() const { return encoding_; }
  // The largest N up to `reach` whose positions 0 … N every encoding takes: `reach`, or the end of a table. Errors:
  // kUnsupported where there is none, and where queries are scaled by positions that far.
  Result<std::int64_t> longest(std::int64_t reach) const;
  // Means over the tokens of `ids`, and the head's moments. Errors: kUnsupported where positions enter before two norms, or
  // before a norm of queries and keys; kCancelled.
  Result<analysis::KernelSource> means(const at::Tensor& ids, std::int64_t reach, const StopToken& stop,
                                       const Progress& progress) const;
  // (V, D) float32 queries and keys of the head: of tokens that stand at `query_at` and `key_at`, where positions enter
  // with the embedding. Errors: kCancelled.
  struct Vectors {
    at::Tensor query, key;
  };
  Result<Vectors> vectors(double query_at, double key_at, const StopToken& stop) const;
  // Tokens as their logits are products (kernel_source.h).
  Result<analysis::CellVectors> cells(const Vectors& vectors, double query_at, double key_at) const {
    return analysis::cell_vectors(encoding_, model_->encoding_layer(layer_), head_, vectors.query, vectors.key,
                                  query_at, key_at);
  }

 private:
  // (1, n, C) as the layer's attention reads tokens `ids` (n); `place` (1, E) is added to their embeddings, or undefined.
  at::Tensor inputs(const at::Tensor& ids, const at::Tensor& place) const;
  position::Projections project(const at::Tensor& inputs) const;
  const transformer::Block& block() const { return model_->block(layer_); }
  // The layer's key head that the head reads.
  std::int64_t key_head() const;
  // (N+1, C) means over the tokens of what the attention reads at each position.
  Result<at::Tensor> placed_means(const at::Tensor& ids, const at::Tensor& places, const StopToken& stop,
                                  const Progress& progress) const;

  const transformer::Transformer* model_ = nullptr;
  const TraceData* data_ = nullptr;
  std::shared_ptr<const position::PositionEncoding> encoding_;
  std::int64_t layer_ = 0;
  std::int64_t head_ = 0;
};

}  // namespace locus::models
