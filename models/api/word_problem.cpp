#include "models/api/word_problem.h"

#include <numeric>
#include <string>
#include <utility>

#include "core/base/shown.h"

namespace locus::models {

namespace {

constexpr auto kSide = static_cast<std::size_t>(kMovedThings);
constexpr double kIdentitySum = 54.5;  // Σ v·v is 55, and Σ v·π(v) at most 54 for every other permutation

// Rows source and target of P: P − f·ξ (ξᵀP).
void apply(const Transposition& transposition, double factor, WordPrefix& prefix) {
  const auto source = static_cast<std::size_t>(transposition.source) * kSide;
  const auto target = static_cast<std::size_t>(transposition.target) * kSide;
  for (std::size_t column = 0; column < kSide; ++column) {
    double& above = prefix.matrix[source + column];
    double& below = prefix.matrix[target + column];
    const double difference = factor * (above - below);
    above -= difference;
    below += difference;
  }
}

double logit_of(const WordPrefix& prefix) {
  double sum = -kIdentitySum;
  for (std::size_t row = 0; row < kSide; ++row) {
    for (std::size_t column = 0; column < kSide; ++column) {
      sum += static_cast<double>((row + 1) * (column + 1)) * prefix.matrix[row * kSide + column];
    }
  }
  return sum;
}

}  // namespace

std::optional<Transposition> transposition_of(char letter) {
  const std::size_t found = kSwapLetters.find(letter);
  if (found == std::string_view::npos) {
    return std::nullopt;
  }
  auto left = static_cast<std::int64_t>(found);
  std::int64_t source = 0;
  for (; left >= kMovedThings - 1 - source; ++source) {
    left -= kMovedThings - 1 - source;
  }
  return Transposition{source, source + 1 + left};
}

char letter_of(const Transposition& transposition) {
  const auto [source, target] = transposition;
  // Σ over earlier sources of the targets that each has.
  const std::int64_t before = source * (2 * kMovedThings - 1 - source) / 2;
  return kSwapLetters[static_cast<std::size_t>(before + target - source - 1)];
}

Arrangement identity_arrangement() {
  Arrangement arrangement{};
  std::iota(arrangement.begin(), arrangement.end(), 0);
  return arrangement;
}

void swap_places(Arrangement& arrangement, const Transposition& transposition) {
  std::swap(arrangement[static_cast<std::size_t>(transposition.source)],
            arrangement[static_cast<std::size_t>(transposition.target)]);
}

Result<std::vector<WordPrefix>> word_prefixes(std::string_view word, bool strict) {
  if (word.size() > static_cast<std::size_t>(kMaxWordLetters)) {
    return too_large("word: expected at most " + std::to_string(kMaxWordLetters) + " letters, found " +
                     std::to_string(word.size()));
  }
  WordPrefix prefix;
  prefix.arrangement = identity_arrangement();
  for (std::size_t row = 0; row < kSide; ++row) {
    prefix.matrix[row * kSide + row] = 1;
  }
  prefix.logit = logit_of(prefix);
  std::vector<WordPrefix> prefixes{prefix};
  for (const char letter : word) {
    const auto transposition = transposition_of(letter);
    if (!transposition) {
      return usage("word: expected letters a to j, found " + shown(std::string(1, letter)));
    }
    swap_places(prefix.arrangement, *transposition);
    prefix.identity = prefix.arrangement == identity_arrangement();
    apply(*transposition, strict ? 1 : 1.0 / 3, prefix);
    prefix.logit = logit_of(prefix);
    prefixes.push_back(prefix);
  }
  return prefixes;
}

}  // namespace locus::models
