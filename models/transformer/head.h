// Head: from the residual stream after the last layer to logits — final norm, pooling of an image, output matrix.
//
// Letters: B batch, R rows of the stream, C width, V outputs.
#pragma once

#include <ATen/ATen.h>

#include <memory>

#include "core/base/range.h"
#include "models/transformer/block.h"
#include "models/transformer/parameter_list.h"
#include "models/transformer/spec.h"

namespace locus::transformer {

class Head {
 public:
  // `embedding` (V, C) is the output matrix of a tied head; it outlives this.
  Head(std::shared_ptr<const Spec> spec, const at::Tensor& embedding)
      : spec_(std::move(spec)), embedding_(&embedding) {}

  // Appends the parameters that `spec` has; names as in transformer.h.
  void collect(ParameterList& list);

  // (B, R, C), the stream between layers or after them, to logits (B, R, V), or (B, 1, V) for an image; normed states
  // (B, R, output_width()) of a model without head.
  at::Tensor operator()(const at::Tensor& x) const { return spec_->head ? whole(x) : states(x); }
  // The same in two steps, of a head that reads tokens: (B, R, C) to what the output matrix reads, and from that the
  // logits (B, R, n) of some outputs, so that rows of a large vocabulary need not be held whole.
  at::Tensor read(const at::Tensor& x) const;
  at::Tensor logits(const at::Tensor& read, Range outputs) const;
  at::Tensor logits(const at::Tensor& read, const Linear& outputs) const { return finished(linear(read, outputs)); }
  // (B, T, C) -> (B, 1, C), or what the two heads of a distilled ViT read, (B, 2, C), or (B, 1, 2C) for class token and
  // mean of patches.
  at::Tensor pooled(const at::Tensor& x) const;

  const NormWeights& final_norm() const { return final_norm_; }
  // (V, C) and bias: the head's own, or the embedding where they are tied.
  Linear output() const { return {head_.weight.defined() ? head_.weight : *embedding_, head_.bias}; }
  // The rows of that matrix, as they are stored, and of its bias for these outputs (n) int64, for logits().
  Linear output_rows(const at::Tensor& outputs) const;
  // The second head of a distilled ViT.
  const Linear& distillation() const { return distillation_head_; }

 private:
  at::Tensor norm(const at::Tensor& x, const NormWeights& weights) const {
    return normalise(x, weights, spec_->norm, spec_->norm_eps);
  }
  at::Tensor whole(const at::Tensor& x) const;
  at::Tensor states(const at::Tensor& x) const;
  at::Tensor transformed(at::Tensor y) const;
  // Scales and caps logits.
  at::Tensor finished(at::Tensor logits) const;

  std::shared_ptr<const Spec> spec_;
  const at::Tensor* embedding_;
  NormWeights final_norm_;
  Linear head_transform_, head_second_;
  NormWeights head_norm_;
  Linear head_;
  Linear distillation_head_;
  Linear state_projection_;
};

}  // namespace locus::transformer
