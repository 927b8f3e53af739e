// Decays of a stretch of tokens, from sums of their logarithms. Letters: causal_convolution.h.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

#include "core/base/range.h"

namespace locus::mixers {

inline constexpr std::int64_t kChunk = 64;  // tokens that are computed together

// float64 c_t = Σ_{s ≤ t} g_s along `dimension`. A log decay below −1000, −∞ too, counts as −1000: e^−1000 is 0.
at::Tensor decay_sums(const at::Tensor& log_decay, std::int64_t dimension);

// Some tokens as rows or columns of a map.
struct DecayingTokens {
  Range range;         // which tokens
  at::Tensor vectors;  // (…, n, D)
  at::Tensor sums;     // (…, n, D) or (…, n, 1): decay_sums() of the tokens, counted from the same one for all

  DecayingTokens part(Range some) const;
};

// (…, R, K) Σ_d a_id b_jd e^{c_id − c_jd} for j ≤ i, else 0, with a the rows' and b the columns' vectors. Dimensions
// before the last two of columns, and of sums, are those of the rows or 1. No exponent is positive: with decays by
// channel, the map is divided until every part but those of a few cells lies below the diagonal, where
// e^{c_i − c_m} e^{c_m − c_j} has a token m between its columns and its rows.
at::Tensor decayed_products(const DecayingTokens& rows, const DecayingTokens& columns);

}  // namespace locus::mixers
