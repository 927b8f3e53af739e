// Continued: a run that takes over what an earlier one computed of its first tokens.
#pragma once

#include <optional>

#include "models/transformer/row_store.h"
#include "models/transformer/transformer.h"

namespace locus::transformer {

class Continued {
 public:
  // Empty where the past does not give the same numbers: models that attend both ways, logits of every row, angles that
  // follow the length, a past that kept less.
  static std::optional<Continued> begin(const Spec& spec, const position::PositionEncoding& encoding, const Past& past,
                                        const Batch& batch, const ObserveOptions& options);

  std::int64_t tokens() const { return past_->tokens; }
  // Of the tokens after the past, entering layer 0.
  const position::State& state() const { return after_; }
  // Puts the past's before the queries, keys, values and state of the tokens after it.
  void take_over(std::int64_t layer, LayerRecord& now);
  // The same for what the attention left of each row.
  void take_over_rows(std::int64_t layer, LayerRecord& now) const;
  // (B, T, C) entering the layer.
  at::Tensor hidden(std::int64_t layer, const at::Tensor& after);
  // All layers are taken over: where their rows lie.
  std::shared_ptr<RowStore> finish() { return rows_.finish(); }

 private:
  Continued(const Past& past, bool updates, std::int64_t length)
      : past_(&past), updates_(updates), rows_(past.rows, past.tokens, length) {}
  const LayerRecord& of(std::int64_t layer) const { return past_->layers[static_cast<std::size_t>(layer)]; }

  const Past* past_;
  bool updates_;  // whether layers renew the state
  position::State after_;
  position::State whole_;  // of all tokens, where no layer renews it
  ContinuedRows rows_;
};

}  // namespace locus::transformer
