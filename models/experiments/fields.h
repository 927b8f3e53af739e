// Access of the analyses from a Trace of the facade to its score fields.
#pragma once

#include <vector>

#include "core/attention/score_field.h"
#include "models/api/analyses.h"
#include "models/engine/trace/recorded_trace.h"

namespace locus::models {

// Errors: kUnsupported for a trace that is none of ours, and for cross-attention.
Result<const TraceData*> data_of(const Trace& trace);

// Errors: kBadInput for a layer that does not exist, kUnsupported for one without scores.
Result<const attention::ScoreField*> scores_of(const Trace& trace, std::int64_t layer);

// One per layer.
Result<std::vector<const attention::ScoreField*>> all_scores(const Trace& trace);

// Whether a text begins with a token that stands for no text, such as <bos>.
bool begins_with_special(const std::vector<TokenInfo>& tokens);

void report_layer(const Progress& progress, std::size_t layer, std::size_t layers);

// (L, H) zeros with their axes named.
Field layer_head_field(std::int64_t layers, std::int64_t heads, std::string quantity);

}  // namespace locus::models
