// A run that is made again: what analyses that change something begin with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/engine/loaded_model.h"
#include "models/engine/trace/recorded_trace.h"

namespace locus::models {

struct Rerun {
  const LoadedModel& loaded;
  const transformer::Transformer& transformer;
  const TraceData& data;
  transformer::Batch batch;  // the input at its positions, with the model's own edits

  std::int64_t length() const { return static_cast<std::int64_t>(data.tokens.size()); }
  Layout layout() const { return {data.grid.columns, data.images}; }
};

enum class Needs { kPredictions, kStates };

// Finds the model that runs `trace` again, which came from `model`; `what` begins the errors: kUnsupported for traces
// of files, encoder–decoders, and, where predictions are needed, models without a head; those of loading and of
// LoadedModel::edit_layers().
Result<Rerun> rerun_of(const Model& model, const Trace& trace, const std::string& what,
                       Needs needs = Needs::kPredictions);

// Input::position_start of the run that these tokens are the whole of: the first one's position, less what an encoding
// that draws positions adds to it. 0 without tokens.
std::int64_t position_start_of(const Model& model, const std::vector<TokenInfo>& tokens);

}  // namespace locus::models
