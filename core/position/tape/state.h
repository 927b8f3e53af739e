// TAPE's state e and what the score makes of it (Zhu et al. 2025, arXiv:2501.00712, §3.2).
//
// e (B, H, T, M, L, R): each head of each token has M blocks of L vectors in R dimensions. The head's D channels are M
// blocks of W = D/M; block m meets e_m through φ in Eq. 6,
//   α_ij = Σ_m q_imᵀ φ(e_im e_jmᵀ) k_jm
//     W = L: φ the identity,              q̂_im = e_imᵀ q_im           (R numbers per block)
//     L = 1: φ(s) = s·I, vector embedding, q̂_im = q_im ⊗ e_im         (W·R numbers per block)
// so that α_ij = ⟨q̂_i, k̂_j⟩ and the score stays a plain dot product. With L = R = 2 and
//   e_im = [[cos, sin], [−sin, cos]](i·θ_m)
// this is RoPE: the matrix the paper prints in Eq. 2 is its transpose, which would turn the other way.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

#include "core/position/shared/rotation.h"

namespace locus::position {

// How the channels of one head meet its blocks.
struct TapeBlocks {
  std::int64_t blocks = 1;                // M
  std::int64_t rows = 2;                  // L
  std::int64_t columns = 2;               // R
  std::int64_t width = 2;                 // W = D/M: L, or anything when L = 1
  PairLayout layout = PairLayout::kHalf;  // channel of (m, w): w·M + m, or interleaved m·W + w

  // (…, M·X) -> (…, M, X) and back, in this layout.
  at::Tensor split(const at::Tensor& channels) const;
  at::Tensor join(const at::Tensor& blocks) const;

  // q̂ or k̂: x (B, H, T, D) with e (B, H, T, M, L, R) -> (B, H, T, M·R) or, for L = 1, (B, H, T, M·W·R).
  at::Tensor apply(const at::Tensor& x, const at::Tensor& e) const;
};

// RoPE's start: cos and sin (T, M) -> (T, M, 2, 2), or flattened to (T, M, 1, 4) or (T, M, 4, 1).
at::Tensor tape_rope_start(const Rotation& rotation, const TapeBlocks& blocks);

// The pair (cos, sin) of the authors' code, which gives every channel its own cos and sin: rotated x_d = x_d·cos_d ∓
// x_partner·sin_d. cos of channel (m, r) is e_m[r, r]; sin is −e_m[1, 0] and e_m[0, 1]. (…, M, 2, 2) <-> (2, …, D).
at::Tensor tape_channels(const at::Tensor& e, const TapeBlocks& blocks);
at::Tensor tape_from_channels(const at::Tensor& channels, const TapeBlocks& blocks);

}  // namespace locus::position
