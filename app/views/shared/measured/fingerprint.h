// A head's fingerprint: what it does, in the numbers of the table of heads that are looked for first. Shown where a
// head is pointed at, and of all heads beside the figure.
#pragma once

#include <cstdint>
#include <vector>

#include "app/views/shared/view.h"
#include "core/base/numbers.h"

namespace locus::views {

// Means over the queries of a text; NaN: not measured.
struct Fingerprint {
  double previous = 0;   // weight on the token before, A_i,i−1
  double first = 0;      // weight on the first token, A_i,0
  double induction = 0;  // weight on what followed the same token earlier, on random tokens given twice
  double distance = 0;   // Σ_j A_ij |i − j|, tokens
  double entropy = 0;    // −Σ_j A_ij ln A_ij, nats
  double self = 0;       // weight on the token itself, A_ii
  double images = 0;     // weight of words on the pictures before them; NaN of texts without pictures
  double sink = kNaN;    // the largest mean weight on one key, of those that enough queries see, and that key
  std::int64_t sink_key = -1;
};

// One per head of these layers, layer by layer; induction is NaN: see induction_scores(). Errors: kUnsupported for
// cross-attention and for traces that hold neither attention nor queries and keys, kCancelled.
Result<std::vector<Fingerprint>> fingerprints(const Column& column, const Range& layers, const StopToken& stop,
                                              const Progress& progress);
// One per head of all layers: that of (l, h) is entry l·H + h. Empty where the column has no model that reads text, or
// its positions end too early. Errors: kCancelled.
Result<std::vector<double>> induction_scores(const Column& column, const StopToken& stop, const Progress& progress);

}  // namespace locus::views
