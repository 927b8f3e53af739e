// Runs that differ from a first one in one layer's edits alone, each of which takes over the layers below.
#pragma once

#include <cstdint>

#include "models/api/edits.h"
#include "models/api/model.h"
#include "models/edits/run_edits.h"
#include "models/transformer/transformer.h"

namespace locus::models {

class LayerReuse {
 public:
  // Runs the batch, with the edits it has. `all_logits` of this run and those that follow. Errors: observe()'s.
  static Result<LayerReuse> begin(const transformer::Transformer& model, const ModelInfo& info,
                                  transformer::Batch batch, bool all_logits, const StopToken& stop);

  const transformer::Observation& first() const { return first_; }
  // The logits of a run whose edits are `edits`, which differ from the first run's in `layer` alone. Errors: those of
  // edited_layer() and observe().
  Result<at::Tensor> logits(const Edits& edits, std::int64_t layer, const Layout& layout) const;

 private:
  LayerReuse(const transformer::Transformer& model, const ModelInfo& info, transformer::Batch batch, bool all_logits,
             StopToken stop)
      : model_(&model), info_(&info), batch_(std::move(batch)), all_logits_(all_logits), stop_(std::move(stop)) {}

  const transformer::Transformer* model_;
  const ModelInfo* info_;
  transformer::Batch batch_;
  bool all_logits_;
  StopToken stop_;
  transformer::Observation first_;
};

}  // namespace locus::models
