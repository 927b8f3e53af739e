// The construction of TAPE App. B.1.3 that decides the word problem of Π(5), the permutations of five things: four
// layers of the architecture of App. B.1.1, whose scores and averages are those of core/position/tape_*.
//
// Words are (B, T) int64 tokens: 11 (start), then 1 to 10, the swaps (1 2), (1 3), … (4 5) in lexicographic order.
// Everything is float64.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace locus::test {

// A layer of the family: a token mixing f and a position contextualisation g, both causal. x (B, T, C), e (B, T, L, R).
struct FamilyLayer {
  // f: A = softmax_j≤i((W_Q x_i)ᵀ e_i e_jᵀ (W_K x_j)); x̃ = A W_V x + x. Undefined W_Q: x̃ = x.
  at::Tensor query, key, value;
  // ẽ: none (ẽ = e); A of f itself (Eq. 7); or the inverse of I + M ⊙ (U_Q e)(U_K e)ᵀ with residual.
  enum class Positions { kNone, kAttention, kInverse } positions = Positions::kNone;
  at::Tensor position_query, position_key;  // U_Q, U_K (L)
  at::Tensor position_value;                // U_V (L, L)
  bool strict = true;                       // M of the inverse: j < i, or as printed j ≤ i
  // e' = ψ(x̃) ẽ, ψ (B, T, L', L).
  std::function<at::Tensor(const at::Tensor& features)> mix;
  // x' = FFN(x̃), point-wise.
  std::function<at::Tensor(const at::Tensor& features)> feed_forward;
};

struct WordRun {
  at::Tensor score;  // (B, T) the fourth layer's logit towards the start token
  at::Tensor x;      // (B, T) first channel after its attention: 1/i − A_i1
  at::Tensor out;    // (B, T) HardSigmoid(−x)
};

class WordProblem {
 public:
  // `strict` masks the second layer's inverse with j < i; as printed (j ≤ i) it misses most identities.
  explicit WordProblem(bool strict);

  std::vector<FamilyLayer>& layers() { return layers_; }
  WordRun run(const at::Tensor& words) const;

 private:
  at::Tensor swaps_;  // Ξ (11, 6): δ_src − δ_dst; 0 for the start token
  std::vector<FamilyLayer> layers_;
};

// (B, T) bool: which prefixes of the words are the identity, by composing the swaps.
at::Tensor identity_prefixes(const at::Tensor& words);

}  // namespace locus::test
