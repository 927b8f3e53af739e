// One number per head for each habit a reader looks for: how spread it is, how far it looks, whether it is a
// previous-token, sink or induction head, how decided its gates are. For the view `heads`.
#pragma once

#include <cstdint>
#include <vector>

#include "core/analysis/sinks.h"
#include "core/base/progress.h"
#include "core/base/result.h"

namespace locus::attention {
class ScoreField;
}

namespace locus::analysis {

// Means over all queries i ≥ 1 (a first query has one key and no choice); weights A_ij.
struct HeadStatistics {
  double entropy = 0;           // −Σ_j A_ij ln A_ij, nats
  double relative_entropy = 0;  // the same divided by ln of the number of keys seen: 1 is uniform
  double mean_distance = 0;     // Σ_j A_ij |i − j|, tokens
  double previous_token = 0;    // A_i,i−1
  double first_token = 0;       // A_i,0 (attention sink)
  double self = 0;              // A_ii
  double gate_selectivity = 0;  // CoPE: standard deviation of g_ij over visible cells, ½ at most; NaN without gates
  Sink sink = {};               // the key that is read most
};

// One entry per head. Errors: the field's own, kCancelled.
Result<std::vector<HeadStatistics>> head_statistics(const attention::ScoreField& field, StopToken stop = {});

// On an input whose second half repeats its first (`period` tokens each): mean over the second half of the weight on
// the token that followed the earlier occurrence, A_i,i−period+1. One entry per head. Errors: kBadInput unless 1 <
// period < T.
Result<std::vector<double>> induction_scores(const attention::ScoreField& field, std::int64_t period,
                                             StopToken stop = {});

}  // namespace locus::analysis
