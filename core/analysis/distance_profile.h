// How a score depends on the distance Δ = i − j between query and key: mean and quantiles by Δ, over all queries or a
// stated sample of them. For the views `distance-profile` (TAPA §2) and `heads`.
#pragma once

#include <cstdint>
#include <vector>

#include "core/attention/quantity.h"
#include "core/base/progress.h"
#include "core/base/result.h"

namespace locus::attention {
class ScoreField;
}

namespace locus::analysis {

struct DistanceProfileOptions {
  attention::Quantity quantity = attention::Quantity::kLogit;
  std::int64_t head = 0;       // or attention::kMeanHead: the mean over all heads, of weights only
  std::int64_t bins = 256;     // distances are grouped when there are more
  std::int64_t skip_keys = 0;  // leave out the first keys (attention sinks)
  // Beyond it every n-th query is read, the last among them: it alone sees every distance.
  std::int64_t cell_limit = std::int64_t{1} << 22;
  double low = 0.1;  // quantiles of the band
  double high = 0.9;
  // Weights only: times the number of keys a query sees, so that 1 is uniform attention at every query. Late queries
  // see more keys, and bare weights would fall with Δ for that reason alone.
  bool relative_to_uniform = true;
  // Where tokens stand, when that is not their number, and which are compared: (T) places and (T) groups, −1 for a
  // token of none. A distance is then the place of the query less that of the key, rounded, of two tokens of one group.
  std::vector<double> places = {};
  std::vector<std::int64_t> groups = {};
};

// One entry per bin; bin n holds the distances [edges[n], edges[n + 1]), up to the largest at which some query sees a
// key. Bins without a cell hold NaN.
struct DistanceProfile {
  std::vector<std::int64_t> edges;
  std::vector<double> mean;
  std::vector<double> low;
  std::vector<double> high;
  std::vector<std::int64_t> cells;
  std::int64_t rows_used = 0;
  std::int64_t rows = 0;  // rows_used < rows: a sample
};

// Causal fields: Δ ≥ 0. Fields that see both ways: |Δ|. With places: whatever sign they have, from the least distance
// that occurs. Cells that are not finite are left out. Errors: kBadInput for options out of range and for places that
// are not finite, more than 2²² apart, or nowhere compared; kUnsupported for the mean of anything but weights, the
// field's own, kCancelled.
Result<DistanceProfile> distance_profile(const attention::ScoreField& field, const DistanceProfileOptions& options,
                                         StopToken stop = {}, const Progress& progress = {});

}  // namespace locus::analysis
