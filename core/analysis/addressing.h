// Addressing: how much of a head's logits is the place of a key, how much is the word that stands there, and how much
// is both at once. For the view addressing, the table of heads and atlases.
//
// L_i[j, c] is the logit of query i if the key content of token c stood at place j, for all keys j and c that i sees; a
// run shows the cells c = j alone. With weights p of the keys, which sum to 1, it is split exactly:
//   L_i[j, c] = μ + a[j] + b[c] + e[j, c]
//   μ = Σ p_j p_c L    a[j] = Σ_c p_c L[j, c] − μ (place)    b[c] = Σ_j p_j L[j, c] − μ (word)
//   V = Σ p_j p_c (L − μ)² = Σ p a² + Σ p b² + Σ p p e²
// A query's shares are these three sums over V; a head's are the means over its queries. Logits are those before a soft
// cap. Keys that the mask hides (a window, a chunk) are neither places nor contents.
//
// Letters: T tokens, H heads, M rotary pairs, n keys that a query sees.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/analysis/pairs.h"
#include "core/base/progress.h"
#include "core/base/result.h"

namespace locus::attention {
class ComputedScores;
class ScoreField;
}  // namespace locus::attention

namespace locus::position {
struct State;
}  // namespace locus::position

namespace locus::analysis {

// p: of the cells (1/n), of the row's own attention, or half of each.
enum class CellWeights { kHalf, kCells, kAttention };

// How a head's logits are split.
enum class AddressingWay {
  kPairs,         // rotary pairs: L = ⟨u_j, k_c⟩ with the query turned by each place; closed form, exact
  kSum,           // the encoding adds what the place alone gives: e = 0, exact
  kTable,         // a cell depends on place and content alone: every cell is scored
  kPermutations,  // it depends on what stands between too: contents are permuted, sums estimated without bias. V then
                  // holds what the other contents change, and counts it as both
};

// One layer of a run.
struct AddressingSource {
  const attention::ScoreField& field;       // weights, and which keys a query sees
  const attention::ComputedScores& scores;  // queries and keys
  const position::State* state = nullptr;   // entering the layer, of an encoding that every layer renews (TAPE)
};

struct AddressingOptions {
  CellWeights weights = CellWeights::kHalf;
  std::int64_t queries = 128;    // a sample of so many, deterministic in `seed`; 0: all
  std::int64_t least_keys = 32;  // queries see at least so many keys before their own; fewer where few do
  double cells = 1 << 24;  // of kTable and kPermutations: as few queries as score so many in a head, or that default
  std::int64_t permutations = 64;
  std::uint64_t seed = 1;
};

// One head; NaN where no query has a logit that varies.
struct Addressing {
  double place = 0;  // shares, which sum to 1
  double word = 0;
  double both = 0;
  double place_half = 0;  // half of the 95 % intervals of these means over the queries
  double word_half = 0;
  double both_half = 0;
  double spread = 0;  // √ of the mean V over the queries
};

struct LayerAddressing {
  AddressingWay way = AddressingWay::kPairs;
  std::int64_t queries = 0;  // that were split
  std::vector<Addressing> heads;
};

// Errors, of every function here: kUnsupported for an encoding that is part of its keys' content (added to the
// embeddings) and for a state that is not there; kBadInput for a head or query that does not exist, fewer than 4
// permutations, or a text of fewer than 3 tokens; kCancelled.
Result<LayerAddressing> addressing(const AddressingSource& source, const AddressingOptions& options = {},
                                   StopToken stop = {});

// What each rotary pair gives to a head's shares: cov(a⁽ᵐ⁾, a)/V, cov(b⁽ᵐ⁾, b)/V and cov(e⁽ᵐ⁾, e)/V, means over its
// queries. They sum to the shares; a pair that works against the others has a negative part.
struct AddressingSpectrum {
  PairList pairs;
  std::vector<double> place, word, both;  // (M[+1])
  Addressing head;
  std::int64_t queries = 0;
};
// Errors: also kUnsupported for an encoding without turning pairs.
Result<AddressingSpectrum> addressing_spectrum(const AddressingSource& source, std::int64_t head,
                                               const AddressingOptions& options = {}, StopToken stop = {});

// One query's row.
struct AddressingRow {
  AddressingWay way = AddressingWay::kPairs;
  std::vector<std::int64_t> keys;         // that it sees, ascending
  std::vector<double> place, word, both;  // (n) a[j], b[j] and e[j, j]: with μ they sum to the logit
  std::vector<double> logit;
  double mean = 0;  // μ
  double place_share = 0;
  double word_share = 0;
  double both_share = 0;
  double spread = 0;  // √V
};
Result<AddressingRow> addressing_row(const AddressingSource& source, std::int64_t head, std::int64_t query,
                                     const AddressingOptions& options = {}, StopToken stop = {});

// The scores of Urrutia et al. 2025 (arXiv:2511.11579), with blocks of one token: over swaps of the contents of two
// keys j and c before the query, whose weights v = (d_j, d_c) become v', the means of cos(v', v) and of cos(v', reverse
// of v), weighted by the soft-max over all swaps of |d_j − d_c| / temperature.
struct SwapScores {
  double positional = 0;  // 1: the weights stay where they are
  double symbolic = 0;    // 1: they go with the words
};
// One entry per head, means over the queries. Errors: also kUnsupported where a cell depends on what stands between.
Result<std::vector<SwapScores>> swap_scores(const AddressingSource& source, double temperature,
                                            const AddressingOptions& options = {}, StopToken stop = {});

}  // namespace locus::analysis
