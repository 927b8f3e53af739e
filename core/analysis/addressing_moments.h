// The split of many queries of one head, or of heads that share their keys, whose logits are those of turning pairs
// (addressing_pairs.cpp), in tiles of float32 that stay in a core's cache, on one thread. Numbers are taken less their
// means over the text, so that what float32 loses is small beside V where cells without attention weigh as well; a part
// far below V has fewer digits.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/range.h"

namespace locus::analysis {

// What one side of a head has of every token: pairs as complex numbers, and numbers that do not turn. Kept less their
// means, as float32.
class PairNumbers {
 public:
  // real, imaginary (T, M) and rest (T, R), which may be null.
  PairNumbers(const double* real, const double* imaginary, const double* rest, std::int64_t tokens, std::int64_t pairs,
              std::int64_t rest_width);

  std::int64_t pairs() const { return pairs_; }
  std::int64_t rest_width() const { return rest_width_; }
  // (2M + R) real parts, imaginary parts, rest.
  const std::vector<double>& mean() const { return mean_; }
  // Rows: real parts and the first half of them again, so that m + d needs no modulo; imaginary parts likewise; rest.
  std::int64_t stride() const { return 2 * extended() + rest_width_; }
  std::int64_t extended() const { return pairs_ + pairs_ / 2; }
  const float* real(std::int64_t token) const { return numbers_.data() + token * stride(); }
  const float* imaginary(std::int64_t token) const { return real(token) + extended(); }
  const float* rest(std::int64_t token) const { return real(token) + 2 * extended(); }

 private:
  std::int64_t pairs_, rest_width_;
  std::vector<double> mean_;
  std::vector<float> numbers_;
};

struct MomentQueries {
  std::int64_t count = 0;           // Q
  Range keys;                       // K of them
  const double* weights = nullptr;  // (Q, K); rows sum to 1, hidden cells are 0
  const double* real = nullptr;     // (Q, M) scale · q
  const double* imaginary = nullptr;
  const double* rest = nullptr;  // (Q, R)
};

// Variances of every query: Σ p a², Σ p b², Σ p p e².
struct MomentParts {
  std::vector<double> place, word, both;
};
// `places` are z_j, `keys` are k_c turned back with the rest.
MomentParts split_by_moments(const PairNumbers& places, const PairNumbers& keys, const MomentQueries& queries);

}  // namespace locus::analysis
