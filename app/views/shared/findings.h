// Findings: what a map shows that is worth a sentence, each decided by a test that noise, a tie and a maximum that is
// there by construction do not pass.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/views/shared/measured/fingerprint.h"
#include "core/base/field.h"

namespace locus::views {

// A place that queries give weight to, over the queries of a map (or of a text) but the first.
struct Finding {
  enum class Kind { kSelf, kPrevious, kNext, kFirst, kWord, kInduction, kPeak };

  Kind kind = Kind::kSelf;
  double share = 0;           // mean weight on the place, Σ_j∈place A_ij
  double times = 0;           // that weight over the weight of uniform rows; 0: not known
  std::string word{};         // of kWord: the label of the tokens
  std::int64_t distance = 0;  // of kPeak: i − j
};

// Findings in a whole map of weights (NaN: not visible): the largest share first, then at most one peak. A place is named if it
// has at least 0.3 of the weight, twice what uniform rows give it (tokens of one word: three times), and exceeds that by
// four standard errors over eight queries or more. Of distances, of which the first token is left out, the peak is named
// if at least 16 queries have it, it is twice uniform by four standard errors, and no other distance comes within a
// tenth of it. `labels`: of the keys.
std::vector<Finding> findings_of(const Field& weights, const std::vector<std::string>& labels);
// The same of a measured head, whose distances and words are not known.
std::vector<Finding> findings_of(const Fingerprint& head);

// "reads line feeds: 62 % of its weight", "peaks at distance 1: 7.9 × uniform", of one head "is a previous-token head:
// 62 % of its weight".
std::string words_of(const Finding& finding, bool one_head);
// The two largest shares and the peak where it is none of these, ", " between them; empty: nothing was found.
std::string words_of(const std::vector<Finding>& findings, bool one_head);

// Whether the cells of a (query, key) map at the same i − j are alike, to 1e-4 of the range, though not all are.
bool depends_on_distance(const Field& field);
// The one i − j at which such a map is largest; empty where several are.
std::optional<std::int64_t> largest_distance(const Field& field);

// The i − j at which most rows have their maximum, of a map whose rows are scaled to a maximum of 1.
struct RowMaxima {
  std::int64_t distance = 0;
  std::int64_t rows = 0;  // that have their maximum there, of `all` rows of two or more keys
  std::int64_t all = 0;
};
std::optional<RowMaxima> row_maxima(const Field& field);

}  // namespace locus::views
