#include "models/experiments/rerun.h"

#include "models/experiments/fields.h"

namespace locus::models {

Result<Rerun> rerun_of(const Model& model, const Trace& trace, const std::string& what, Needs needs) {
  LOCUS_TRY(const TraceData* const data, data_of(trace));
  const LoadedModel* const loaded = loaded_model_of(model);
  const ModelInfo& info = model.info();
  if (loaded == nullptr || loaded->checkpoint().parts().encoder != nullptr ||
      (!data->input_ids.defined() && !data->pixels.defined())) {
    return unsupported(what + ": expected a checkpoint of one side that can be run again", info.name);
  }
  LOCUS_TRY(const transformer::Transformer* const transformer, loaded->checkpoint().ready());
  if (needs == Needs::kPredictions && !transformer->spec().head) {
    return unsupported(what + ": " + info.name + " has no head, so it predicts nothing");
  }
  if (needs == Needs::kPredictions && transformer->spec().token_score) {
    return unsupported(what + ": " + info.name + " gives each token one number and predicts no token");
  }
  Rerun run{*loaded, *transformer, *data, {}};
  if (data->input_ids.defined()) {
    run.batch.ids = data->input_ids.unsqueeze(0);
  }
  run.batch.pixels = data->image_rows ? at::Tensor() : data->pixels;
  run.batch.images = data->image_rows;
  run.batch.blocks = data->blocks;
  run.batch.positions = {data->position_ids, data->grid.prefix(), data->grid.detections};
  LOCUS_CHECK(loaded->runner().edit_layers(run.batch, run.layout()));
  return run;
}

std::int64_t position_start_of(const Model& model, const std::vector<TokenInfo>& tokens) {
  if (tokens.empty()) {
    return 0;
  }
  double first = tokens.front().position;
  if (const LoadedModel* const loaded = loaded_model_of(model); loaded != nullptr) {
    const auto transformer = loaded->checkpoint().ready();
    const auto length = static_cast<std::int64_t>(tokens.size());
    first -= transformer.ok() ? (*transformer)->positions(length).ids[0].item<double>() : 0;
  }
  return static_cast<std::int64_t>(first);
}

}  // namespace locus::models
