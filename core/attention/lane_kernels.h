// Loops of the fused attention driver, of score fields and of the feed-forward's activation: one head's block of 64
// queries against a few keys, every number of a query in its own vector lane. Sums along the keys (soft-max, CoPE's
// positions, pixels) are then plain vector additions, and a product needs no packing of the keys.
//
// A block is columns × 64 floats, row-major: s[j·64 + l] belongs to key j of the block and query (lane) l. Written once
// for any vector width and compiled for AVX-512, AVX2 and neither.
#pragma once

#include <cstdint>

#include "core/base/instruction_sets.h"

namespace locus::attention {

constexpr std::int64_t kLanes = 64;
constexpr std::int64_t kFewLanes = 8;  // up to here a product lane by lane is faster than one of all 64
constexpr std::int64_t kChunk = 64;    // columns that callers take at once: a block is 16 KiB

struct LaneKernels {
  // out[j][l] = Σ_k a[k][l] · b[j·column_stride + k·depth_stride]; `add`: is added to out. Lanes from
  // `lanes` on hold no meaning. Terms in ascending k; in any order (within 1e-6·Σ|a·b|) for at most kFewLanes lanes
  // where one of the strides is 1, so that b's vectors are read as they lie.
  void (*product)(const float* a, const float* b, std::int64_t column_stride, std::int64_t depth_stride,
                  std::int64_t depth, std::int64_t columns, std::int64_t lanes, bool add, float* out);
  // out[j] += Σ_k a[k] · b[j·column_stride + k·depth_stride] of one query, whose numbers lie side by side; one of the
  // strides is 1. Terms in any order, as above.
  void (*query_product)(const float* a, const float* b, std::int64_t column_stride, std::int64_t depth_stride,
                        std::int64_t depth, std::int64_t columns, float* out);
  // s[j][l] = value unless begin[l] ≤ first + j < end[l].
  void (*hide)(float* s, std::int64_t columns, std::int64_t first, const std::int32_t* begin, const std::int32_t* end,
               float value);
  // One more block of a running soft-max, of the vectors that hold the first `lanes`: s becomes exp(s − maximum);
  // maximum and sum (64) are renewed, rescale (64) is what earlier terms are to be multiplied with. Returns whether any
  // lane's maximum rose.
  bool (*online_softmax_step)(float* s, std::int64_t columns, std::int64_t lanes, float* maximum, float* sum,
                              float* rescale);
  // s[j][l] = exp(s[j][l] − shift[l]).
  void (*exponentiate)(float* s, std::int64_t columns, const float* shift);
  // s[j][l] = x[j][l] · sign + y[l]; with sign −1 a difference.
  void (*add_row)(float* s, std::int64_t columns, const float* row, float sign);
  // s[j][l] *= factor[l].
  void (*scale)(float* s, std::int64_t columns, const float* factor);
  // s −= t.
  void (*subtract)(float* s, const float* t, std::int64_t columns);
  // s = 1 / (1 + exp(−s)).
  void (*gate)(float* s, std::int64_t columns);
  // s = x · ½(1 + tanh(√(2/π)(x + 0.044715x³))) of x = s + row, the GELU of GPT-2.
  void (*gelu_tanh)(float* s, std::int64_t columns, const float* row);
  // s = a(s)·t with a(x) = x/(1 + exp(−x)) (SiLU), and with the GELU above: the inner vector of a gated feed-forward.
  void (*silu_times)(float* s, const float* t, std::int64_t columns);
  void (*gelu_tanh_times)(float* s, const float* t, std::int64_t columns);
  // s = cap·tanh(s/cap).
  void (*soft_cap)(float* s, std::int64_t columns, float cap);
  // CoPE, Eq. 4: from the last column to the first, sum[l] += gates[j][l]; positions[j][l] = min(sum[l], p_max), NaN
  // where a gate is.
  // sum (128) holds 64 sums, then what rounding added to each in excess; excess[j][l] is that of positions[j][l]: near
  // 64 a position alone rounds to 4e-6, which a steep z would show. Returns the smallest sum over the lanes < count.
  float (*count)(const float* gates, std::int64_t columns, float p_max, std::int64_t count, float* sum,
                 float* positions, float* excess);
  // CoPE, Eq. 8: s[j][l] += z interpolated at positions[j][l] − excess[j][l]; positions ∈ [0, last] or NaN, which
  // stays; z[p·64 + l].
  void (*interpolate)(float* s, const float* positions, const float* excess, const float* z, std::int32_t last,
                      std::int64_t columns);
  // s += slope · positions.
  void (*add_line)(float* s, const float* positions, float slope, std::int64_t columns);
  // acc[l] = Σ_j or max_j of s[j][l] and what acc held.
  void (*sum)(const float* s, std::int64_t columns, float* acc);
  void (*maximum)(const float* s, std::int64_t columns, float* acc);
  // out[j] = Σ_l s[j][l].
  void (*column_sums)(const float* s, std::int64_t columns, float* out);
  // From logarithms s of weights: entropy[l] = −Σ_j e^s·s, distance[l] = Σ_j e^s·|token[l] − (first + j)|; s becomes
  // e^s.
  void (*attention_statistics)(float* s, std::int64_t columns, float first, const float* token, float* entropy,
                               float* distance);
  // acc[63 + l − j] += s[j][l], of 127 diagonals; `squares` (may be null) likewise with s[j][l]².
  void (*diagonals)(const float* s, std::int64_t columns, float* acc, float* squares);
  // acc[l / group] += s[l], l < count in ascending order; `group` divides 64.
  void (*fold)(const float* s, std::int64_t count, std::int64_t group, double* acc);
  // out[l·stride + j] = s[j][l], begin ≤ l < end.
  void (*unpack)(const float* s, std::int64_t columns, std::int64_t begin, std::int64_t end, float* out,
                 std::int64_t stride);
};

// The kernels of one of the versions that this CPU can run (core/base/instruction_sets.h).
const LaneKernels& lane_kernels(std::int64_t version = used_version());

}  // namespace locus::attention
