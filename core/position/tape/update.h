// How TAPE renews its state (Zhu et al. 2025, Eq. 7 and 8, App. C): averaging e over the keys, and mixing it with gates
// that the token's content sets. Both are linear in e with coefficients that do not see the R axis of an equivariant
// mixing, so e·Q in means e·Q out for any orthogonal Q (Eq. 5).
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string_view>

#include "core/base/range.h"
#include "core/base/result.h"
#include "core/position/position_encoding.h"
#include "core/position/tape/state.h"

namespace locus::position {

// Which axes of e the weights of Eq. 8 mix. F is their number of entries.
enum class TapeMixing {
  kShared,  // heads, alike for every m, l, r: F = H. The only one whose logits survive a shift of all ids
  kFull,    // blocks and rows of one head, weights per head: F = M·L. Equivariant for one common Q, but a shift
            // turns every block by its own angle, so logits change under it
  kWhole,   // blocks and rows of all heads at once, F = H·M·L: Eq. 8 as printed, whose M blocks are those of all
            // channels. Equivariant as kFull is, and changes under a shift as it does
  kVector,  // channels of the authors' (cos, sin), alike for every head: F = D (the code's vector embedding)
  kNonEquivariant,  // heads and the R axis (paper: F = H·R), or heads and channels (the authors' code: F = H·D)
};

// Weights of one layer's mixing, the axes as TapeMixing says. Full mixing has one matrix per head: (H, I, F), (H, F,
// I).
struct TapeMix {
  TapeMixing mixing = TapeMixing::kShared;
  bool on_channels = false;  // kVector, and kNonEquivariant of the authors' code: mix (cos, sin) channels
  at::Tensor up;             // W1ᵀ (I, F)
  at::Tensor down;           // W2 (F, I)

  // W2 diag(gate) W1ᵀ e for e (B, H, T, M, L, R) and gate (B, T, I); shaped as e. Eq. 8 with ψ = diag(gate).
  at::Tensor operator()(const at::Tensor& e, const at::Tensor& gate, const TapeBlocks& blocks) const;

 private:
  at::Tensor rows_of(const at::Tensor& e, const at::Tensor& gate, const TapeBlocks& blocks) const;
};

// Eq. 7: ẽ_im = Σ_j softmax_j(α_ijm) e_jm with one soft-max a block. `prepared` holds q̂ and k̂, `e` (B, H, T, M, L, R)
// the state of all keys; returns (B, H, R, M, L, R) for the queries `rows`. Causal: j ≤ i. Goes over the heads in
// blocks of rows, so that no (T, T, M) tensor is made for long texts.
at::Tensor tape_contextualise(const Prepared& prepared, const at::Tensor& e, Range rows, const TapeBlocks& blocks,
                              double scale, bool causal);

}  // namespace locus::position
