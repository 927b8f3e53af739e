#include "models/experiments/layer_reuse.h"

#include <utility>

#include "models/edits/run_edits.h"

namespace locus::models {

Result<LayerReuse> LayerReuse::begin(const transformer::Transformer& model, const ModelInfo& info,
                                     transformer::Batch batch, Range read, const StopToken& stop) {
  LayerReuse made(model, info, std::move(batch), read, stop);
  LOCUS_TRY(made.first_, model.observe(made.batch_, {.hidden = true,
                                                     .values = model.spec().shares_keys(),
                                                     .all_logits = read.empty(),
                                                     .read = read,
                                                     .before_head = true,
                                                     .stop = stop}));
  return made;
}

Result<at::Tensor> LayerReuse::stream(const Edits& edits, std::int64_t layer, const Layout& layout) const {
  transformer::LayerEdits layers = batch_.edits ? *batch_.edits : transformer::LayerEdits(first_.layers.size());
  LOCUS_TRY(layers[static_cast<std::size_t>(layer)],
            edited_layer(edits, *info_, layer_to_edit(layer, *model_, batch_, layout)));
  transformer::Batch batch = batch_;
  batch.edits = std::make_shared<const transformer::LayerEdits>(std::move(layers));
  transformer::ReusedLayers reused;
  reused.layers.assign(first_.layers.begin(), first_.layers.begin() + layer);
  reused.hidden = first_.layers[static_cast<std::size_t>(layer)].hidden;
  for (std::size_t n = static_cast<std::size_t>(layer); n < first_.layers.size(); ++n) {
    reused.after.push_back(first_.layers[n].state);
  }
  LOCUS_TRY(
      const transformer::Observation seen,
      model_->observe(
          batch,
          {.all_logits = read_.empty(), .read = read_, .before_head = true, .reused_layers = &reused, .stop = stop_}));
  return seen.stream.select(0, 0);
}

}  // namespace locus::models
