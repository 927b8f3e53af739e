// Continued: a run that reuses what an earlier run computed for a prefix of its tokens.
#pragma once

#include <optional>
#include <vector>

#include "models/transformer/row_store.h"
#include "models/transformer/transformer.h"

namespace locus::transformer {

class Continued {
 public:
  // Empty where the earlier run would give other numbers: bidirectional models, cross-attention, short convolutions,
  // logits of every row, angles that depend on the length, or an earlier run that kept too little or has no mark.
  static std::optional<Continued> begin(const Transformer& model, const ReusedTokens& reused, const Batch& batch,
                                        const ObserveOptions& options);

  // How many of the tokens are reused: of a model with mixers the last ones that all of them have marked.
  std::int64_t tokens() const { return tokens_; }
  // The state of each encoding, in the model's order, for the tokens after the prefix, entering layer 0.
  const std::vector<position::State>& states() const { return after_; }
  // Prepends the prefix to the queries, keys, values and state of the tokens after it.
  void reuse_prefix(std::int64_t layer, LayerRecord& now);
  // The same for the per-row results of the attention.
  void reuse_prefix_rows(std::int64_t layer, LayerRecord& now);
  // The same for the routing to experts.
  void reuse_prefix_routing(std::int64_t layer, Routing& now) const;
  // The state of a layer's mixer behind the prefix.
  const MixerState& mixer_state(std::int64_t layer) const;
  // The map of the prefix and then of the tokens after it, and the marks of both; those of `now` count the tokens after
  // the prefix.
  void reuse_prefix_mixer(std::int64_t layer, LayerRecord& now) const;
  // (B, 1, C), the last token of the prefix as it entered a layer that shifts tokens.
  at::Tensor last_entering(std::int64_t layer) const { return of(layer).hidden.narrow(1, tokens_ - 1, 1); }
  // (B, T, C) entering the layer, prefix included.
  at::Tensor hidden(std::int64_t layer, const at::Tensor& after);
  // Ends the run after the last layer; returns the store of its rows.
  std::shared_ptr<RowStore> finish() { return rows_.finish(); }

 private:
  // State shared by the layers of one encoding.
  struct Shared {
    bool updates = false;   // the layers update the state
    position::State whole;  // state for all tokens; unused where layers update it
  };

  Continued(const Transformer& model, const ReusedTokens& reused, std::int64_t tokens, std::int64_t length)
      : model_(&model), reused_(&reused), tokens_(tokens), rows_(reused.rows, tokens, length) {}
  // Reuses an encoding's state, which `first` has, a layer that attends; false where that would give other numbers.
  bool add(const position::PositionEncoding& encoding, const LayerRecord& first, const Batch& batch);
  const LayerRecord& of(std::int64_t layer) const { return reused_->layers[static_cast<std::size_t>(layer)]; }

  const Transformer* model_;
  const ReusedTokens* reused_;
  std::int64_t tokens_;
  std::vector<position::State> after_;
  std::vector<Shared> shared_;
  ContinuedRows rows_;
};

}  // namespace locus::transformer
