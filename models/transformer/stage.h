// Stage: the layers of a tower's stage that run before those of the spec, and the step to the next stage.
//
// Hiera's step is a layer that attends: y = MaxPool(S·n) + O·Attend(MaxPool(Q·n), K·n, V·n) of the norm n of x, and then
// the feed-forward of the next stage's layers; maxima are of 2 × 2 patches, channel by channel.
//
// Letters: B batch, C width, C' the next stage's width, T patches.
#pragma once

#include <ATen/ATen.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "models/transformer/block.h"
#include "models/transformer/layer_encodings.h"
#include "models/transformer/parameter_list.h"
#include "models/transformer/spec.h"

namespace locus::transformer {

class Stage {
 public:
  // The stage ImageStem::before[number] of a spec that validate() accepts. Errors: make_encoding()'s.
  static Result<std::unique_ptr<Stage>> create(const Spec& spec, std::size_t number);

  // Appends its parameters; names as in transformer.h.
  void collect(ParameterList& list);

  // (B, rows, columns, C) -> (B, rows/2, columns/2, C'). Precondition: check_grid() accepts the grid that this leads to.
  at::Tensor operator()(const at::Tensor& x) const;

 private:
  explicit Stage(Spec spec) : spec_(std::move(spec)) {}
  // (B, T, C) through one layer, on this grid.
  at::Tensor through(const Block& block, const at::Tensor& x, std::int64_t rows, std::int64_t columns) const;
  // Each 2 × 2 patches as one.
  at::Tensor joined(const at::Tensor& x) const;
  // (B, rows, columns, C) -> (B, rows/2, columns/2, C') by Hiera's layer.
  at::Tensor pooled(const at::Tensor& x) const;

  Spec spec_;  // stage_spec()'s
  std::string prefix_;
  std::int64_t next_width_ = 0;
  LayerEncodings encodings_;
  std::vector<Block> blocks_;
  NormWeights merge_norm_;
  Linear merge_;
  LayerSpec next_;              // Hiera: a layer of the next stage
  std::int64_t next_tile_ = 0;  // side of the windows between the stages, in patches of this one; 0: all
  Linear shortcut_, qkv_, output_;
  NormWeights feed_forward_norm_;
  FeedForwardWeights feed_forward_;
};

}  // namespace locus::transformer
