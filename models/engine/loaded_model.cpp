#include "models/engine/loaded_model.h"

#include "models/edits/run_edits.h"
#include "models/engine/estimator.h"
#include "models/engine/input_reader.h"
#include "models/engine/position_table.h"

namespace locus::models {

double LoadedModel::macs(std::int64_t length) const {
  return Estimator(*checkpoint_).macs(length);
}

Result<std::vector<TokenInfo>> LoadedModel::tokenize(const Input& input) const {
  return InputReader(*checkpoint_).tokenize(input);
}

Result<std::shared_ptr<const Trace>> LoadedModel::run(const Input& input, const RunOptions& options, StopToken stop,
                                                      const Progress& progress) const {
  return runner().run(input, options, std::move(stop), progress);
}

Status LoadedModel::read_weights(const StopToken& stop, const Progress& progress) const {
  const auto transformer = checkpoint_->ready(stop, progress);
  return transformer.ok() ? Status() : Status(transformer.error());
}

Estimate LoadedModel::estimate(std::int64_t length, const RunOptions& options) const {
  return Estimator(*checkpoint_).estimate(length, options);
}

Result<Generation> LoadedModel::generate(const Input& input, const GenerateOptions& options,
                                         const RunOptions& run_options, StopToken stop,
                                         const Progress& progress) const {
  return runner().generate(input, options, run_options, std::move(stop), progress);
}

Result<std::shared_ptr<const PositionTable>> LoadedModel::position_table(const PositionRequest& request,
                                                                         std::int64_t layer) const {
  return models::position_table(*checkpoint_, request, layer);
}

Result<std::shared_ptr<const Model>> LoadedModel::edited(Edits edits) const {
  if (!edits.empty() && checkpoint_->parts().encoder) {
    return unsupported("edits: expected a model of one side, found an encoder–decoder", info().name);
  }
  LOCUS_CHECK(check_edits(edits, info()));
  LOCUS_TRY(edits, with_layers(std::move(edits), info()));
  return std::shared_ptr<const Model>(new LoadedModel(checkpoint_, std::move(edits)));
}

const LoadedModel* loaded_model_of(const Model& model) {
  return dynamic_cast<const LoadedModel*>(&model);
}

}  // namespace locus::models
