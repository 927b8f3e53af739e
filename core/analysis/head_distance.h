// How differently two heads attend to the same input, and which heads of two checkpoints correspond. For the view
// `head-difference`.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/field.h"
#include "core/base/progress.h"
#include "core/base/result.h"

namespace locus::attention {
class ScoreField;
}

namespace locus::analysis {

// (H_a, H_b): entry (a, b) is the mean over queries i ≥ 1 of the total variation ½ Σ_j |A_ij − B_ij|, in [0, 1],
// between head a of `first` and head b of `second`, which saw the same T tokens. At most `rows` queries are used (0:
// all), drawn deterministically in `seed`. Errors: kBadInput when the lengths differ, the fields' own, kCancelled.
Result<Field> head_distances(const attention::ScoreField& first, const attention::ScoreField& second, std::int64_t rows,
                             std::uint64_t seed = 1, StopToken stop = {});

// The assignment of rows to distinct columns with the smallest total cost (Hungarian method, O(n³)); entry r is the
// column of row r, −1 for rows left over when there are more rows than columns. Precondition: finite costs.
std::vector<std::int64_t> best_assignment(const Field& cost);

}  // namespace locus::analysis
