// Runs that differ from a first one in one layer's edits alone, each of which takes over the layers below.
#pragma once

#include <cstdint>
#include <vector>

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
  // (R, C) each, the input of the head in runs of these edits, which differ from the first run's in `layer` alone. Runs
  // that differ only in which heads are ablated are computed side by side. Errors: those of edited_layer() and observe().
  Result<std::vector<at::Tensor>> streams(const std::vector<Edits>& runs, std::int64_t layer,
                                          const Layout& layout) const;
  // How many runs streams() computes side by side at most.
  std::int64_t at_once() const;

 private:
  LayerReuse(const transformer::Transformer& model, const ModelInfo& info, transformer::Batch batch, Range read,
             StopToken stop)
      : model_(&model), info_(&info), batch_(std::move(batch)), read_(read), stop_(std::move(stop)) {}

  // Whether runs can be sequences of one batch: nothing that belongs to a sequence but its tokens or pixels is read.
  bool shares_batches() const;
  // (N, R, C) of N runs whose edits in `layer` are these.
  Result<at::Tensor> batch_of(const std::vector<transformer::LayerEdit>& edits, std::int64_t layer) const;

  const transformer::Transformer* model_;
  const ModelInfo* info_;
  transformer::Batch batch_;
  Range read_;
  StopToken stop_;
  transformer::Observation first_;
};

}  // namespace locus::models
