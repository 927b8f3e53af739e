// The word problem of Π(5), the permutations of five things (TAPE, arXiv:2501.00712, App. B.1): a word of transpositions
// u[2], u[3], … behind the start token; is the product of those so far the identity? And what the construction of App.
// B.1.3 holds and answers at each prefix, under the mask M of its second layer that is printed, or under the strict one.
//
// Its first three layers make P_i = I − Σ_{n≤i} ξ_n η_nᵀ of the words' rows ξ = δ_source − δ_target and of
// η = (I + M ⊙ ξ ξᵀ)⁻¹ ξ. Written out, prefix by prefix, with P_1 = I:
//   M: n < i    η_i = P_{i−1}ᵀ ξ_i      P_i = (I − ξ_i ξ_iᵀ) P_{i−1}       the transposition times P_{i−1}
//   M: n ≤ i    η_i = P_{i−1}ᵀ ξ_i / 3  P_i = (I − ξ_i ξ_iᵀ / 3) P_{i−1}   a third of it, and two thirds of none
// Its fourth layer's logit towards the start token is Σ_v v (P_i k)_v − 54.5 with k = (1, …, 5): at least 0.5 where P_i
// is the identity, at most −0.5 where it is another permutation. No ATen type appears here.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace locus::models {

inline constexpr std::int64_t kMovedThings = 5;
inline constexpr std::string_view kSwapLetters = "abcdefghij";  // (1 2), (1 3), … (4 5)
inline constexpr std::int64_t kMaxWordLetters = 4096;

// The places, from 0, that a transposition exchanges; source < target.
struct Transposition {
  std::int64_t source = 0;
  std::int64_t target = 0;
};
std::optional<Transposition> transposition_of(char letter);
// Precondition: 0 ≤ source < target < kMovedThings.
char letter_of(const Transposition& transposition);

// [v]: the thing that stands at place v, both from 0.
using Arrangement = std::array<std::int64_t, kMovedThings>;
Arrangement identity_arrangement();
void swap_places(Arrangement& arrangement, const Transposition& transposition);

struct WordPrefix {
  Arrangement arrangement{};                                 // what the transpositions so far come to
  bool identity = true;                                      // of it
  std::array<double, kMovedThings * kMovedThings> matrix{};  // P_i, row by row: (v, w) is 1 where thing w stands at v
  double logit = 0;                                          // above 0: the construction says identity
};

// One prefix for the start token and one for each letter. Errors: kUsage for a letter that is no transposition, naming
// it; kTooLarge above kMaxWordLetters.
Result<std::vector<WordPrefix>> word_prefixes(std::string_view word, bool strict);

}  // namespace locus::models
