// What the tokens between a key and a query do to that key, in an encoding that changes keys on their way (PaTH):
//   logit_ij = k_jᵀ P_ij q_i/√D,  P_ij = H_{j+1} … H_i,  H_t = I − β_t w_t w_tᵀ
// No ATen type appears here.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "models/api/model.h"

namespace locus::models {

// Lists have a number for each token t = j … i; the first is of the key's own, which changes nothing.
struct TransformSteps {
  double logit = 0;                 // k_jᵀ P_ij q_i/√D, without forget gates and edits
  double content = 0;               // k_j·q_i/√D
  std::vector<double> strength;     // β_t: 1 erases what the key has along w_t, 2 mirrors it; NaN for the key's own
  std::vector<double> change;       // `logit` less that with H_t = I
  std::vector<double> carried;      // cos(P_tjᵀ k_j, k_j)
  std::vector<double> deviation;    // ‖P_tj − I‖_F
  std::vector<double> determinant;  // det P_tj = Π (1 − β_s ‖w_s‖²), s = j+1 … t
};

// Errors: kUnsupported for a layer whose encoding changes no keys, and for traces without queries and keys; kTooLarge for
// heads of more than 4,096 channels; kBadInput for a layer or head that does not exist and for a key that the query does
// not see; kCancelled.
Result<TransformSteps> transform_steps(const Trace& trace, std::int64_t layer, std::int64_t head, std::int64_t query,
                                       std::int64_t key, StopToken stop = {});

}  // namespace locus::models
