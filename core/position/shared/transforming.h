// Transforming: an encoding in which the tokens between a key and a query change the key on its way,
//   logit_ij = scale() · k_jᵀ P_ij q_i,  P_ij = H_{j+1} … H_i,  P_ii = I
//
// Letters: B batch, h heads of a tile, R tile rows (queries i), K tile columns (keys j), D head width.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "core/base/progress.h"
#include "core/position/position_encoding.h"

namespace locus::position {

// What the tokens t = j … i do to the key j on its way to the query i; a number of each, the first the key's own, which
// changes nothing.
struct TransformSteps {
  double logit = 0;                 // scale() · k_jᵀ P_ij q_i
  double content = 0;               // scale() · k_j·q_i
  std::vector<double> strength;     // β_t of H_t = I − β_t w_t w_tᵀ; NaN for the key's own
  std::vector<double> change;       // `logit` less that with H_t = I
  std::vector<double> carried;      // cos(P_tjᵀ k_j, k_j)
  std::vector<double> deviation;    // ‖P_tj − I‖_F
  std::vector<double> determinant;  // det P_tj
};

class Transforming {
 public:
  // D × D numbers are kept for each query.
  static constexpr std::int64_t kMaxWidth = 4096;

  virtual ~Transforming() = default;
  // (B, H, T) β of every token for each query head; those of Prepared::given_strengths in their place.
  virtual at::Tensor strengths(const Prepared& prepared) const = 0;
  // (B, h, D) of unit length along the mean of each query head's own w over the tokens; zeros where that mean is 0.
  virtual at::Tensor mean_direction(const Prepared& prepared, std::int64_t layer, Range heads) const = 0;
  // (B, h, R, K) ‖P_ij − I‖_F, 0 on the diagonal; cells j > i hold no meaning. Precondition: D ≤ kMaxWidth.
  virtual at::Tensor deviation(const Prepared& prepared, const Tile& tile) const = 0;
  // (B, h, R, K) cos(P_ijᵀ k_j, k_j), 1 on the diagonal and 0 for a key that is erased; likewise.
  virtual at::Tensor carried(const Prepared& prepared, const Tile& tile) const = 0;
  // In float64, of the first of the batch; lists are shorter after a stop. Preconditions: key ≤ query; D ≤ kMaxWidth.
  virtual TransformSteps steps(const Prepared& prepared, std::int64_t layer, std::int64_t head, std::int64_t query,
                               std::int64_t key, const StopToken& stop = {}) const = 0;
};

}  // namespace locus::position
