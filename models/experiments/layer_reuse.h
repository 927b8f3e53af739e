// Runs that differ from a first one in one layer's edits alone, each of which takes over the layers below.
#pragma once

#include <cstdint>

#include "core/base/range.h"
#include "models/api/edits.h"
#include "models/api/model.h"
#include "models/edits/run_edits.h"
#include "models/transformer/transformer.h"

namespace locus::models {

class LayerReuse {
 public:
  // Runs the batch, with the edits it has. `read`: the tokens that the head reads in this run and those that follow
  // (texts); empty: all. Errors: observe()'s.
  static Result<LayerReuse> begin(const transformer::Transformer& model, const ModelInfo& info,
                                  transformer::Batch batch, Range read, const StopToken& stop);

  const transformer::Observation& first() const { return first_; }
  at::Tensor first_stream() const { return first_.stream.select(0, 0); }  // (R, C)
  // (R, C), the input of the head in a run whose edits are `edits`, which differ from the first run's in `layer` alone.
  // Errors: those of edited_layer() and observe().
  Result<at::Tensor> stream(const Edits& edits, std::int64_t layer, const Layout& layout) const;

 private:
  LayerReuse(const transformer::Transformer& model, const ModelInfo& info, transformer::Batch batch, Range read,
             StopToken stop)
      : model_(&model), info_(&info), batch_(std::move(batch)), read_(read), stop_(std::move(stop)) {}

  const transformer::Transformer* model_;
  const ModelInfo* info_;
  transformer::Batch batch_;
  Range read_;
  StopToken stop_;
  transformer::Observation first_;
};

}  // namespace locus::models
