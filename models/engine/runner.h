// Runner: runs a checkpoint under edits, from an input to its trace.
#pragma once

#include <memory>
#include <optional>

#include "models/edits/run_edits.h"
#include "models/engine/checkpoint.h"
#include "models/engine/prepared_input.h"
#include "models/engine/trace_maker.h"

namespace locus::models {

class Runner {
 public:
  Runner(const Checkpoint& checkpoint, const Edits& edits)
      : checkpoint_(checkpoint), parts_(checkpoint.parts()), edits_(edits) {}

  Result<std::shared_ptr<const Trace>> run(const Input& input, const RunOptions& options, StopToken stop,
                                           const Progress& progress) const;
  Result<Generation> generate(const Input& input, const GenerateOptions& options, const RunOptions& run_options,
                              StopToken stop, const Progress& progress) const;

  // The input, edited and on the device. Errors: those of InputReader::read(); kBadInput also for positions that the
  // encoding does not take, and edits that do not fit the input; kUnsupported for edits that the encoding cannot take.
  Result<PreparedInput> prepare(const Input& input) const;
  static Layout layout_of(const PreparedInput& prepared);
  // Edits a batch: its positions, and its layers for which the weights are loaded. Errors: those of Model::edited()
  // and what it leaves to a run.
  Status edit(transformer::Batch& batch, const Layout& layout) const;
  // Puts the edits of the layers into a batch whose positions are edited already.
  Status edit_layers(transformer::Batch& batch, const Layout& layout) const;

 private:
  Result<transformer::Observation> observe(const transformer::Transformer& model, const transformer::Batch& batch,
                                           const transformer::ObserveOptions& options, double& time_ms) const;
  // Lets the tower see the pictures, where there are some; the result goes to prepared.batch.images.
  Status observe_images(PreparedInput& prepared, const transformer::ObserveOptions& options, Observed& observed,
                        double& time_ms) const;
  // Lets the encoder read, where there is one; its states go to prepared.batch.memory.
  Status observe_encoder(PreparedInput& prepared, const transformer::ObserveOptions& options, Observed& observed,
                         double& time_ms) const;

  const Checkpoint& checkpoint_;
  const CheckpointParts& parts_;
  const Edits& edits_;
};

// Converts options to those of observe().
transformer::ObserveOptions observe_options(const RunOptions& options, StopToken stop, const Progress& progress);

// The part of an earlier trace that a run over `batch` may reuse; empty when nothing.
std::optional<transformer::ReusedTokens> reused_tokens_of(const std::shared_ptr<const Trace>& trace,
                                                          const transformer::Transformer& model,
                                                          const transformer::Batch& batch);

// The layers that a run over `batch` with `edits` may take over of an earlier, otherwise edited one; empty when none.
std::optional<transformer::ReusedLayers> reused_layers_of(const std::shared_ptr<const Trace>& trace,
                                                          const transformer::Transformer& model,
                                                          const transformer::Batch& batch, const Edits& edits,
                                                          const RunOptions& options);

}  // namespace locus::models
