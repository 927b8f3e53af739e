// What the ways of addressing() share: queries with the weights of their cells, and what each way makes of them.
//
// Letters: as in addressing.h; Q queries of a block, K its keys, h heads.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/analysis/addressing.h"
#include "core/analysis/pair_layer.h"
#include "core/attention/score_field.h"

namespace locus::analysis {

// The keys that a query sees, ascending.
std::vector<std::int64_t> keys_of(const attention::Mask& mask, std::int64_t query, std::int64_t keys);

// Queries of a layer, ascending.
struct QueryBlock {
  std::vector<std::int64_t> queries;
  Range keys;          // that hold every key any of them sees
  at::Tensor weights;  // (h, Q, K) float64 p; rows sum to 1, hidden cells are 0
};

// Errors: the field's.
Result<QueryBlock> query_block(const AddressingSource& source, std::vector<std::int64_t> queries, Range heads,
                               CellWeights weights);

// The split of some queries of one head. Each list is (Q).
struct QueryParts {
  std::vector<double> place, word, both;  // variances: Σ p a², Σ p b², Σ p p e²
  // Where asked for, (Q, K) float64 a and b, and (Q) μ.
  at::Tensor place_effect, word_effect, mean;
  // Where asked for, (M[+1]) sums over the queries of a row's covariance with the whole, over the query's V.
  std::vector<double> place_rows, word_rows, both_rows;
};

struct PartsWanted {
  bool effects = false;
  bool rows = false;  // of kPairs alone
};

// Adds the variances of a query, or takes them for none: parts that are no numbers are 0.
double variance_of(const QueryParts& parts, std::size_t query);

// (Q) Σ p x² − (Σ p x)² of (Q, K), from differences.
at::Tensor weighted_variance(const at::Tensor& weights, const at::Tensor& values);

class AddressingSplit {
 public:
  virtual ~AddressingSplit() = default;
  virtual AddressingWay way() const = 0;
  // The cells that a query costs, by the keys that it sees: AddressingOptions::cells bounds their sum.
  virtual double cells(std::int64_t keys) const = 0;
  // One per head.
  virtual Result<std::vector<QueryParts>> split(const QueryBlock& block, Range heads, const PartsWanted& wanted,
                                                const StopToken& stop) = 0;
  // (n, n) float64 L[j, c] over the keys that a query sees. Errors: kUnsupported of kPermutations.
  virtual Result<at::Tensor> table(std::int64_t head, std::int64_t query, const std::vector<std::int64_t>& keys) = 0;
};

using Split = std::unique_ptr<AddressingSplit>;

// Closed form of pairs that turn; null for other encodings.
Result<Split> split_by_pairs(const AddressingSource& source, CellWeights weights);
// Splits encodings that add to the content.
Split split_by_sum(const AddressingSource& source);
// Splits all others; `permutations` even where a table would do, for tests.
Result<Split> split_by_contents(const AddressingSource& source, const AddressingOptions& options,
                                bool permutations = false);
// The way of this layer's encoding.
Result<Split> split_of(const AddressingSource& source, const AddressingOptions& options);

// addressing() with a given way.
Result<LayerAddressing> addressing_by(const AddressingSource& source, AddressingSplit& split,
                                      const AddressingOptions& options, StopToken stop = {});

}  // namespace locus::analysis
