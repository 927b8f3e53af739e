// A head's fingerprint: what it does, in the four numbers of the table of heads that are looked for first. Shown where
// a head is pointed at.
#pragma once

#include <cstdint>
#include <vector>

#include "app/views/view.h"

namespace locus::views {

// Means over the queries of a text; NaN: not measured.
struct Fingerprint {
  double previous = 0;   // weight on the token before, A_i,i−1
  double first = 0;      // weight on the first token, A_i,0
  double induction = 0;  // weight on what followed the same token earlier, on random tokens given twice
  double distance = 0;   // Σ_j A_ij |i − j|, tokens
};

// One per head, layer by layer: that of (l, h) is entry l·H + h. Errors: kUnsupported for cross-attention and for
// traces that hold neither attention nor queries and keys, kCancelled. Induction is NaN where the column has no model
// that reads text.
Result<std::vector<Fingerprint>> fingerprints(const Column& column, const StopToken& stop, const Progress& progress);

}  // namespace locus::views
