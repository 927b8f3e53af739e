// Contributions of each part of a model to one logit, by the direct path through the stream
// (models/transformer/direct_path.h). No ATen type appears here.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/field.h"
#include "core/base/progress.h"
#include "core/base/result.h"
#include "models/api/model.h"

namespace locus::models {

struct AttributionOptions {
  std::int64_t token = -1;     // an id (an image's class); −1: the likeliest there
  std::int64_t against = -1;   // whose logit is taken away; −1: none
  std::int64_t position = -1;  // of the query that predicts; −1: the last. An image has the one of its head
  bool centred = false;        // less the mean over all outputs: what raises every logit alike changes no prediction
};

// Every norm's scale is frozen at the run's value, so the parts sum to the logit: |Σ parts − logit| ≤ 1e-4·(1 +
// |logit|).
struct LogitAttribution {
  Field heads;                        // (L, H); NaN in layers without attention
  std::vector<double> feed_forwards;  // (L)
  std::vector<double> mixers;         // (L) of layers without a soft-max; empty where there are none
  std::vector<double> biases;         // (L) of output projections, and of norms behind branches
  // "embedding" or "patches", "positions", "token type", "other biases"; "cap": what a cap of the logits takes away.
  std::vector<std::pair<std::string, double>> ends;
  double logit = 0;  // as the run has it, less the other's, or where centred less the mean of all
  std::int64_t position = 0;
  std::string token;    // as Trace::top() has it
  std::string against;  // empty: none
};

// The attribution for `trace`'s run, with the model's edits. Errors: kUnsupported for traces of files, models without a
// head and heads with a layer of their own before the logits; kBadInput for a token or position that does not exist;
// kCancelled.
Result<LogitAttribution> logit_attribution(const Model& model, const Trace& trace, const AttributionOptions& options,
                                           StopToken stop = {}, const Progress& progress = {});

}  // namespace locus::models
