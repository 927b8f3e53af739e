// KernelSource: the queries and keys of a vocabulary, as kernels are made of them.
//
// Letters: as in kernel.h.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "core/analysis/kernel.h"
#include "core/position/position_encoding.h"

namespace locus::analysis {

// Projections of a layer over the tokens, before its encoding; float64.
struct KernelSource {
  std::shared_ptr<const position::PositionEncoding> encoding;
  std::int64_t layer = 0;  // its number among the layers of that encoding
  bool causal = true;
  std::int64_t reach = 0;  // N: distances 0 … N, positions 0 … N
  // (H, 1, D) and (Hkv, 1, D) means over the tokens; (H, N+1, D) and (Hkv, N+1, D) where positions enter with the
  // embedding, one mean each.
  at::Tensor mean_query;
  at::Tensor mean_key;
  // (D, D) E[q qᵀ], E[k kᵀ] and E[q kᵀ] over the tokens, of the head that is asked for; undefined: no spread.
  at::Tensor query_moment;
  at::Tensor key_moment;
  at::Tensor cross_moment;
  double sampling = 0;          // 1/n − 1/V, where the means are of n tokens of V
  at::Device device{at::kCPU};  // of the encoding's parameters; means and moments are on the CPU
};

// Vectors whose product is a logit.
struct CellVectors {
  at::Tensor query;  // (V, W)
  at::Tensor key;    // (V, W)
};

// One head's queries (V, D) at position `query_at` and keys (V, D) at `key_at`, of tokens x and y, such that
// query_x·key_y is their logit: with the parts of it that one side alone decides, and the bias, as channels of their
// own. `key_at` ≤ `query_at`; frequencies that depend on the length see query_at + 1 tokens. Errors: has_kernel()'s.
Result<CellVectors> cell_vectors(const std::shared_ptr<const position::PositionEncoding>& encoding, std::int64_t layer,
                                 std::int64_t head, const at::Tensor& query, const at::Tensor& key, double query_at,
                                 double key_at);

struct StrongPair {
  std::int64_t query = 0;
  std::int64_t key = 0;
  double logit = 0;
};

// The `count` largest products of V × V, found in blocks and never held as one matrix, largest first; equal ones in the
// order of their numbers. None for a count below 1. Errors: kCancelled.
Result<std::vector<StrongPair>> strongest_pairs(const CellVectors& vectors, std::int64_t count, StopToken stop = {},
                                                const Progress& progress = {});

}  // namespace locus::analysis
