// Measurement of the view `distance-profile`: mean score by distance, along tokens or along a component of
// their positions, and what theory expects.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/views/shared/measured/measured_view.h"
#include "models/api/analyses.h"

namespace locus::views {

constexpr std::int64_t kSkipSinks = -1;
// Distances that fewer queries have are not drawn, in texts that have twice as many.
constexpr std::int64_t kLeastQueries = 16;

// Whether that few queries of so many are too few for a distance.
inline bool is_rare(double queries, std::int64_t of) {
  return of >= 2 * kLeastQueries && queries < static_cast<double>(kLeastQueries);
}
inline std::string rare_note() {
  return "distances of fewer than " + std::to_string(kLeastQueries) + " queries left out";
}

// The mean weight that the queries behind the first token give it, where the head sinks there; otherwise 0, also of a
// run without weights.
Result<double> sink_weight(const models::Trace& trace, const HeadRef& head, const StopToken& stop);
std::string sink_note(double weight);  // "without the first token, which has 62 % of the weight"

struct DistanceProfileKey {
  std::int64_t layer = 0;
  std::int64_t head = 0;
  models::Quantity quantity = models::Quantity::kWeight;
  bool baseline = true;
  std::int64_t skip = 0;  // first keys that are left out; kSkipSinks: the first token where the head sinks there
  std::string theory;
  std::string
      along;  // "tokens", or a component of M-RoPE's positions: "t" of all tokens, "h", "w" of a picture's cells

  friend bool operator==(const DistanceProfileKey&, const DistanceProfileKey&) = default;
};

// One value per distance: Δ = 0 … T−1 along tokens, else the distances that occur; of an atlas one per bin of them.
struct DistanceCurves {
  analysis::DistanceProfile scores;
  std::vector<models::TheoryCurve> theory;  // of the logit; none where there is none
  double sink = 0;                          // mean weight of the first token, where it is left out as a sink

  // The distance of entry n; of a bin the middle of those that it holds.
  double distance(std::size_t n) const { return static_cast<double>(scores.edges[n] + scores.edges[n + 1] - 1) / 2; }
  // Whether enough queries have the distance of entry n.
  bool drawn(std::size_t n) const { return !is_rare(static_cast<double>(scores.cells[n]), scores.rows_used); }
};
// The size in the cache, in bytes.
std::size_t cached_bytes(const DistanceCurves& profile);

// Errors: the analyses'; kUnsupported along a component where positions are one number, or no picture has cells.
Result<DistanceCurves> measure_distances(const DistanceProfileKey& key, const MeasureContext& context);

// A theoretical curve of column `name`, with the R² of what it foretells.
figure::Curve theory_line(const std::string& name, const models::TheoryCurve& expected,
                          const analysis::DistanceProfile& scores, bool logarithmic);

// "no query sees farther than 511 tokens": of a layer with a window or chunks.
std::string window_note(std::int64_t farthest);

// "distance Δ (tokens)"; of a component "rows apart (query − key, cells of a picture)".
std::string distance_label(const std::string& along, bool causal);

}  // namespace locus::views
