// Distance bias (TAPA, Fig. 1 and App. I): is a score larger when the key is near than when it is far? Short-range
// minus long-range scores Δscore = s_λ − s_Λ of random pairs, λ near and Λ far.
//
// Letters: i query, j key, λ a near and Λ a far distance, T tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/progress.h"
#include "core/base/range.h"
#include "core/base/result.h"

namespace locus::attention {
class ScoreSource;
}

namespace locus::analysis {

// Which two scores are subtracted.
enum class Pairing {
  kIndependent,     // s(i, i−λ) − s(i', i'−Λ), two independent queries: the paper's
  kSameQuery,       // s(i, i−λ) − s(i, i−Λ)
  kCounterfactual,  // the same vectors q_i and k_j scored as if j stood λ, then Λ before i: the encoding without the
                    // content
};

struct DistanceBiasOptions {
  Range near{0, 101};          // λ
  Range far{10000, 10101};     // Λ
  std::int64_t pairs = 10000;  // over all texts together
  Pairing pairing = Pairing::kIndependent;
  std::int64_t head = 0;
  std::int64_t skip_keys = 0;  // leave out the first keys of every text (attention sinks)
  std::uint64_t seed = 1;
  std::int64_t resamples = 1000;  // of the bootstrap

  friend bool operator==(const DistanceBiasOptions&, const DistanceBiasOptions&) = default;
};

struct DistanceBias {
  std::vector<float> differences;  // one per pair
  double mean = 0;
  double deviation = 0;       // of the differences
  double positive_share = 0;  // P(Δscore > 0)
  // 95 % of the mean, by bootstrap over texts: pairs of one text are not independent, so one text gives none.
  std::optional<std::pair<double, double>> interval;
  Range near;  // the ranges used
  Range far;
  bool shortened = false;  // the shortest text could not hold the ranges asked for
};

// The ranges when they fit a text of `length` tokens with queries to spare; otherwise the largest that do: Λ up to ¾ T,
// at most T/4 wide, λ below it. Precondition: length ≥ 8.
std::pair<Range, Range> fitting_ranges(Range near, Range far, std::int64_t length);

// One source a text, all of the same layer. Scores come from the sampled pairs alone, never from a map. Errors:
// kBadInput for ranges that are empty or not apart, a text of fewer than 8 tokens, a head that does not exist;
// kUnsupported for a counterfactual of an encoding whose score depends on what lies between (CoPE) or on earlier layers
// (TAPE), or of a stored map; kCancelled.
Result<DistanceBias> distance_bias(const std::vector<const attention::ScoreSource*>& texts,
                                   const DistanceBiasOptions& options, StopToken stop = {},
                                   const Progress& progress = {});

}  // namespace locus::analysis
