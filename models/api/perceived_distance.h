// How far from a query an encoding puts the keys before it, by what stands for the distance in its own computation: RoPE's
// i − j, CoPE's positions p_ij, the distance whose RoPE is nearest to TAPE's state, the turns of TAPA's cosine, the length
// of the difference of SeqPE's encodings. No ATen type appears here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "models/api/model.h"

namespace locus::models {

struct PerceivedDistances {
  std::string definition;        // what is measured: "p_ij"
  std::vector<double> distance;  // of the keys 0 … query; NaN where a key has none
};

// Errors: kUnsupported for encodings in which nothing stands for a distance, saying why, for layers and states without
// it, and for traces without queries and keys; kBadInput for a layer, head or query that does not exist; kTooLarge for
// TAPE's positions farther apart than 2¹⁷; kCancelled.
Result<PerceivedDistances> perceived_distances(const Trace& trace, std::int64_t layer, std::int64_t head,
                                               std::int64_t query, StopToken stop = {});

}  // namespace locus::models
