// Turning pairs of channels: what RoPE, xPos, TAPE and both RoPE-2D share.
//
// Angles are formed in float64 and cos and sin are rounded once, to the type of the tensor they turn: a float32 angle
// is off by 1e-3 at position 131,071. M is the number of pairs; a rotation turns the first 2M of W channels.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "core/position/position_encoding.h"

namespace locus::position {

// Which two channels form pair m.
enum class PairLayout {
  kHalf,         // m and m + M (Llama, GPT-NeoX, TAPE)
  kInterleaved,  // 2m and 2m + 1 (rope-vit, torchscale's xPos)
  kSwapped,      // m + M and m: kHalf turned the other way (nanochat)
  kAxes,         // kHalf within either half of the channels: m and m + M/2 of m < M/2, then m + M/2 and m + M (Gemma 4)
};

// cos and sin of the angle of every token and pair, (…, T, M) float64 unless a gradient path made them otherwise; (Hkv, T,
// M) where key heads turn differently.
struct Rotation {
  at::Tensor cos;
  at::Tensor sin;

  std::int64_t pairs() const { return cos.size(-1); }
  // Repeats each key head's angles, (Hkv, T, M), for its query heads; angles that all share stay as they are.
  Rotation of_heads(std::int64_t heads) const;
  // (2, …, T, M), the form a State keeps, and back.
  at::Tensor packed() const { return at::stack({cos, sin}); }
  static Rotation unpacked(const at::Tensor& packed) { return {packed.select(0, 0), packed.select(0, 1)}; }
};

// θ_m = base^(−2m/width), m = 0 … width/2 − 1: (M) float64. Precondition: width even.
at::Tensor inverse_frequencies(std::int64_t width, double base);

// Angles ids_t · frequencies_m in float64; cos and sin times `magnitude` (YaRN's attention factor). (T), (M) -> (T, M).
Rotation rotation(const at::Tensor& ids, const at::Tensor& frequencies, double magnitude = 1.0);

// Pair (a, b) of token t becomes (a·cos − b·sin, b·cos + a·sin); channels from 2M on are passed through.
// x (…, T, W) with W ≥ 2M; the rotation broadcasts over x's leading dimensions.
at::Tensor rotate(const at::Tensor& x, const Rotation& rotation, PairLayout layout);

// Result of prepare() for an encoding that turns q and k and nothing else: both turned, and as they were for the content.
Prepared turned(const Projections& projections, const Positions& positions, const Rotation& rotation,
                PairLayout layout);

// (…, T, 2M) float32 with ⟨e_i, e_j⟩ = 2 Σ_m (cos_i cos_j + sin_i sin_j): the sum over all 2M channels as the authors
// of TAPE write it, where both halves hold the same numbers.
at::Tensor rotation_vectors(const Rotation& rotation);

}  // namespace locus::position
