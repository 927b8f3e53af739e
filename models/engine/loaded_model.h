// LoadedModel: the Model behind open(): a checkpoint and the edits that it runs under.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "models/engine/checkpoint.h"
#include "models/engine/runner.h"

namespace locus::models {

class LoadedModel final : public Model {
 public:
  explicit LoadedModel(std::shared_ptr<const Checkpoint> checkpoint, Edits edits = {})
      : checkpoint_(std::move(checkpoint)), edits_(std::move(edits)) {}
  explicit LoadedModel(CheckpointParts parts) : LoadedModel(std::make_shared<const Checkpoint>(std::move(parts))) {}

  const Checkpoint& checkpoint() const { return *checkpoint_; }
  Runner runner() const { return {*checkpoint_, edits_}; }

  const ModelInfo& info() const override { return checkpoint_->info(); }
  const Edits& edits() const override { return edits_; }
  double macs(std::int64_t length) const override;
  Result<std::vector<TokenInfo>> tokenize(const Input& input) const override;
  Result<std::shared_ptr<const Trace>> run(const Input& input, const RunOptions& options, StopToken stop,
                                           const Progress& progress) const override;
  Status read_weights(const StopToken& stop, const Progress& progress) const override;
  Estimate estimate(std::int64_t length, const RunOptions& options) const override;
  Result<Generation> generate(const Input& input, const GenerateOptions& options, const RunOptions& run_options,
                              StopToken stop, const Progress& progress) const override;
  Result<std::shared_ptr<const PositionTable>> position_table(const PositionRequest& request,
                                                              std::int64_t layer) const override;
  Result<std::shared_ptr<const Model>> edited(Edits edits) const override;

 private:
  std::shared_ptr<const Checkpoint> checkpoint_;
  Edits edits_;
};

// The model as a LoadedModel, which is what open() gives; null for any other.
const LoadedModel* loaded_model_of(const Model& model);

}  // namespace locus::models
