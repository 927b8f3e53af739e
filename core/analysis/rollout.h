// Attention rollout (Abnar & Zuidema 2020, §3): how much each input token reaches one output token through all layers,
// when every layer mixes tokens by ½(A + I), A the mean over heads.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"

namespace locus::attention {
class ScoreField;
}

namespace locus::analysis {

// (T) shares that sum to 1: row `query` of Π_l ½(A_l + I), the last layer leftmost. `layers` are the fields of layers
// 0 … L−1; computed as L vector-matrix products, O(T) memory. Errors: kBadInput for no layers or a query that does not
// exist, the fields' own, kCancelled.
Result<std::vector<float>> attention_rollout(const std::vector<const attention::ScoreField*>& layers,
                                             std::int64_t query, StopToken stop = {});

}  // namespace locus::analysis
