// One score by its sources: a query and a key are sums over what earlier parts of the model wrote into the stream, so
// their product is a sum over pairs of sources. No ATen type appears here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/field.h"
#include "core/base/progress.h"
#include "core/base/range.h"
#include "core/base/result.h"
#include "models/api/model.h"

namespace locus::models {

struct ScoreSourcesOptions {
  std::int64_t layer = 0;
  std::int64_t head = 0;
  std::int64_t query = -1;  // −1: the last
  // −1: the one that the query attends to most, but for the first token, which many heads use as a sink.
  std::int64_t key = -1;
  Range pairs{};  // of a rotary encoding, that alone are counted (see pairs.h); empty: all
};

struct ScoreSource {
  std::string name;         // "embedding", "positions", "head 1.3", "feed-forward 0", "biases 2"
  std::int64_t layer = -1;  // −1: of no layer
  std::int64_t head = -1;   // −1: no head
};

// Every norm's scale is frozen at the run's value: |Σ terms + place + cap − logit| ≤ 1e-4·(1 + |logit|) of all pairs.
struct ScoreSources {
  std::vector<ScoreSource> query, key;
  Field terms;       // (query sources, key sources), with the factor of the scores
  double place = 0;  // what the encoding adds whatever the contents; 0 of some pairs
  double cap = 0;    // what a cap of the scores adds to it; 0 of some pairs
  double logit = 0;  // as the run has it, of all pairs
  double weight = 0;
  std::int64_t query_token = 0;
  std::int64_t key_token = 0;
};

// The sources of a cell of `trace`'s run. Errors: kUnsupported for traces of files, for models and layers whose stream,
// queries or keys are no sums, for edited logits, and for encodings whose score is no product of query and key with a
// bias beside it; kBadInput for a layer, head, token or pair that does not exist and a key that the query does not see;
// kCancelled.
Result<ScoreSources> score_sources(const Model& model, const Trace& trace, const ScoreSourcesOptions& options,
                                   StopToken stop = {}, const Progress& progress = {});

}  // namespace locus::models
