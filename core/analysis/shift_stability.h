// How much attention and position dot products change when the same tokens stand elsewhere: position ids that start
// later, or tokens put in front (TAPE, Table 8). The paper gives no formulas; these are ours.
#pragma once

#include <cstdint>

#include "core/base/progress.h"
#include "core/base/result.h"

namespace at {
class Tensor;
}

namespace locus::attention {
class ScoreField;
}

namespace locus::analysis {

struct AttentionChange {
  double row_l1 = 0;     // mean over heads and queries of Σ_j |A'_ij − A_ij|
  double cell_mean = 0;  // mean over heads and visible cells of |A'_ij − A_ij|
};

// Row i of `plain` is compared with row i + offset of `moved`, key j with key j + offset; `moved` has `offset` tokens
// in front, whose columns are left out and not renormalised. Errors: kBadInput when heads differ or the length of
// `moved` is not that of `plain` plus offset; the fields' own; kCancelled.
Result<AttentionChange> attention_change(const attention::ScoreField& plain, const attention::ScoreField& moved,
                                         std::int64_t offset, StopToken stop = {});

// 100 · Σ|P' − P| / Σ|P| over heads and cells j ≤ i, P = ⟨e_i, e_j⟩ of vectors (H, T, X) as PositionEncoding::vectors()
// gives them, (H, T + offset, X) for `moved`; blocks of rows, no (T, T) tensor. Errors: kBadInput when shapes disagree.
Result<double> dot_product_change_percent(const at::Tensor& plain, const at::Tensor& moved, std::int64_t offset,
                                          StopToken stop = {});

}  // namespace locus::analysis
