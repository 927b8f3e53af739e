// Attention sinks wherever they stand: the key that takes most of the attention of the queries that see it. Often the
// first token, but delimiters as well (Sun et al. 2024, arXiv 2402.17762).
//
// Letters: T tokens, i query, j key, A weight.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/numbers.h"

namespace locus::attention {
struct Mask;
}

namespace locus::analysis {

// The key of one head whose mean weight is the largest; −1 and NaN where no key is seen by enough queries.
struct Sink {
  std::int64_t key = -1;
  double weight = kNaN;  // mean of A_ij over the queries i ≥ 1, i ≠ j, that see the key

  friend bool operator==(const Sink&, const Sink&) = default;
};

// The keys of T tokens that may be sinks: at least 16 other queries see them, and at least a quarter as many as see the
// key that most see. The last keys of a causal text, whose means are those of a few queries, are none.
class SinkKeys {
 public:
  SinkKeys(const attention::Mask& mask, std::int64_t length);

  // From (T) Σ_i A_ij over the queries i ≥ 1, i ≠ j; of equal means the first key.
  Sink largest(std::span<const double> received) const;

 private:
  std::vector<double> queries_;  // (T) queries i ≥ 1, i ≠ j, that see the key; 0: it may be none
};

}  // namespace locus::analysis
