// Continued: a run that takes over what an earlier one computed of its first tokens.
#pragma once

#include <optional>
#include <vector>

#include "models/transformer/row_store.h"
#include "models/transformer/transformer.h"

namespace locus::transformer {

class Continued {
 public:
  // Empty where the earlier run does not give the same numbers: models that attend both ways or look at an encoder,
  // logits of every row, angles that follow the length, a run that kept less.
  static std::optional<Continued> begin(const Transformer& model, const ReusedTokens& reused, const Batch& batch,
                                        const ObserveOptions& options);

  std::int64_t tokens() const { return reused_->tokens; }
  // The state of the tokens after the reused ones, entering layer 0: an encoding's each, in the model's order.
  const std::vector<position::State>& states() const { return after_; }
  // Puts what is reused before the queries, keys, values and state of the tokens after it.
  void reuse_prefix(std::int64_t layer, LayerRecord& now);
  // The same for what the attention left of each row.
  void reuse_prefix_rows(std::int64_t layer, LayerRecord& now) const;
  // The same for which experts they went to.
  void reuse_prefix_routing(std::int64_t layer, Routing& now) const;
  // (B, T, C) entering the layer.
  at::Tensor hidden(std::int64_t layer, const at::Tensor& after);
  // All layers are taken over: where their rows lie.
  std::shared_ptr<RowStore> finish() { return rows_.finish(); }

 private:
  // What the layers of one encoding share.
  struct Shared {
    bool updates = false;   // whether layers renew the state
    position::State whole;  // of all tokens, where no layer renews it
  };

  Continued(const Transformer& model, const ReusedTokens& reused, std::int64_t length)
      : model_(&model), reused_(&reused), rows_(reused.rows, reused.tokens, length) {}
  // Takes an encoding's state over; whether that gives the same numbers.
  bool add(const position::PositionEncoding& encoding, const LayerRecord& first, const Batch& batch);
  const LayerRecord& of(std::int64_t layer) const { return reused_->layers[static_cast<std::size_t>(layer)]; }

  const Transformer* model_;
  const ReusedTokens* reused_;
  std::vector<position::State> after_;
  std::vector<Shared> shared_;
  ContinuedRows rows_;
};

}  // namespace locus::transformer
