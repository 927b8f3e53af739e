// Kernel: a head's preference by distance before it has read a text: the logit of a query of one token and a key of another,
// averaged over all pairs of tokens of a vocabulary. For the view `kernel`.
//
//   kernel(Δ) = mean over tokens x, y and queries i ≥ Δ of logit(q_x at i, k_y at i − Δ)
//
// An encoding that reads no text leaves the logit affine in the query and in the key, so the mean over the V² pairs is
// the logit of the mean query and the mean key: V vectors are read, no V × V matrix is made. With RoPE it is
// x̄ᵀ W_Qᵀ R(Δ) W_K ȳ, the carrier of the pairs over the vocabulary instead of a text.
//
// Letters: V tokens of the vocabulary, H heads, Hkv key heads, D head width, M pairs, N the largest distance, Δ = i −
// j.
#pragma once

#include <cstdint>
#include <vector>

#include "core/analysis/pairs.h"
#include "core/base/field.h"
#include "core/base/progress.h"
#include "core/base/result.h"

namespace locus::position {
class PositionEncoding;
}

namespace locus::analysis {

struct KernelSource;  // kernel_source.h

struct Kernel {
  std::vector<double> mean;  // (N+1) logits before a soft cap; of |Δ| over both directions where queries see both ways
  // (N+1) the standard deviation of the logit over the pairs of tokens, from the second moments E[q qᵀ] and E[k kᵀ]:
  // E[(qᵀ R k)²] is the sum of the products of E[q qᵀ] and R E[k kᵀ] Rᵀ. Empty where positions change more of a logit
  // than a rotation or a bias (relative vectors), or enter with the embedding.
  std::vector<double> spread;
  // (N+1) the standard error of `mean` where the tokens are a sample of the vocabulary; empty as `spread` is, and where
  // all were read. To first order in the means, with queries and keys of the same tokens:
  // scale²·Var(qᵀ R k̄ + q̄ᵀ R k)·(1/n − 1/V).
  std::vector<double> error;
  PairList pairs;             // without rows where the encoding turns none
  Field parts;                // (M[+1], N+1) each row's part of the mean
  std::vector<double> share;  // (M[+1]) of the variance of the mean over the distances, as PairProfile has it
};

// kUnsupported, saying why, for an encoding whose positions depend on the text: no mean query has a place there.
Status has_kernel(const position::PositionEncoding& encoding, std::int64_t layer);

// One head. O(M·N log N + N²) time. Errors: has_kernel()'s, kBadInput for a head that does not exist and for positions
// that the encoding cannot take, kCancelled.
Result<Kernel> kernel(const KernelSource& source, std::int64_t head, StopToken stop = {},
                      const Progress& progress = {});

// The share of the variance of `measured` over the distances that `kernel` explains when both may differ by a constant,
// which no soft-max sees: 1 − Σ n(m − k − c)²/Σ n(m − m̄)², each distance as often as it was counted, c the mean of
// m − k. Below 0 where a constant is nearer; NaN where nothing varies. The constant goes to `shift`.
double explained_by_kernel(const std::vector<double>& kernel, const std::vector<double>& measured,
                           const std::vector<double>& count, double& shift);

}  // namespace locus::analysis
