// How much of their attention some queries give to parts of the keys: the pictures of a text, its words. For the views
// `heads` and the matrix of heads.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"

namespace locus::attention {
class ScoreField;
}

namespace locus::analysis {

// Which keys are summed, and over which queries.
struct KeyParts {
  std::vector<std::int64_t> of_key;  // (T) the part of each key, 0 … parts − 1; −1: of none
  std::vector<bool> query;           // (T) whether the mean is over that query
  std::int64_t parts = 0;
};

// Entry [h][p]: the mean over the queries of Σ_{j in p} A_ij of head h; NaN without a query. Errors: kBadInput for
// lists that are not one entry per token or a part that does not exist; the field's own; kCancelled.
Result<std::vector<std::vector<double>>> key_shares(const attention::ScoreField& field, const KeyParts& parts,
                                                    StopToken stop = {});

}  // namespace locus::analysis
