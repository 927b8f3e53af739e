// Small score fields with known contents for the tests of analyses.
#pragma once

#include <ATen/ATen.h>

#include <map>
#include <memory>
#include <utility>

#include "core/attention/score_field.h"

namespace locus::test {

// A causal field whose logits are `logits` (H, T, T); weights are their masked soft-max.
inline attention::ScoreField causal_field(const at::Tensor& logits,
                                          std::map<attention::Quantity, at::Tensor> more = {}) {
  const std::int64_t length = logits.size(1);
  const at::Tensor hidden = at::ones({length, length}, at::kBool).triu(1);
  more[attention::Quantity::kLogit] = logits;
  more[attention::Quantity::kWeight] = logits.masked_fill(hidden, -1e30).softmax(-1);
  return {std::make_shared<attention::StoredScores>(std::move(more)), attention::Mask{}};
}

}  // namespace locus::test
