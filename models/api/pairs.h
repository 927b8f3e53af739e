// Measures of each rotary pair in a run, for views and the command line; no ATen type appears here. What each number
// means stands in core/analysis/pairs.h.
//
// Letters: T tokens, H heads, M pairs.
//
// Errors of every function: kUnsupported for a layer whose encoding turns no pairs of channels, saying what it does
// instead, and for traces without queries and keys; kBadInput for a layer, head, token or pair that does not exist;
// kCancelled.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/analysis/pairs.h"
#include "core/base/field.h"
#include "core/base/progress.h"
#include "core/base/range.h"
#include "core/base/result.h"
#include "models/api/model.h"

namespace locus::models {

Result<analysis::PairList> pair_list(const Trace& trace, std::int64_t layer, std::int64_t head);

// (H, M[+1]).
Result<Field> pair_energy(const Trace& trace, std::int64_t layer, analysis::PairNorm norm, StopToken stop = {});

Result<analysis::CellParts> pair_parts(const Trace& trace, std::int64_t layer, std::int64_t head, std::int64_t query,
                                       std::int64_t key, const std::vector<double>& distances = {});

Result<analysis::PairProfile> pair_profile(const Trace& trace, std::int64_t layer, std::int64_t head,
                                           std::int64_t skip_keys = 0, StopToken stop = {},
                                           const Progress& progress = {});

Result<analysis::PairPlane> pair_plane(const Trace& trace, std::int64_t layer, std::int64_t head, std::int64_t pair);

// One entry per head of every layer; layers without pairs, and all of a run without any, have none.
Result<std::vector<std::vector<analysis::PairStatistics>>> pair_statistics(const Trace& trace, StopToken stop = {},
                                                                           const Progress& progress = {});

// The same run with the logits of `layer` made of the pairs of this range alone (M is the rest), and weights of these
// logits; every other layer is as it was. Errors: kUnsupported for TAPA, whose logit is no sum of pairs, and for layers
// with a sink, whose logit a trace does not hold.
Result<std::shared_ptr<const Trace>> with_pairs(const Trace& trace, std::int64_t layer, Range pairs);

}  // namespace locus::models
