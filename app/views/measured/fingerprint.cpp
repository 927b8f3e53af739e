#include "app/views/measured/fingerprint.h"

#include "app/views/plots/series.h"
#include "core/base/numbers.h"
#include "models/api/analyses.h"

namespace locus::views {

Result<std::vector<Fingerprint>> fingerprints(const Column& column, const StopToken& stop, const Progress& progress) {
  models::HeadTableOptions options;
  options.bias_pairs = 0;
  LOCUS_TRY(const auto table, models::head_table(*column.trace, options, stop, progress));
  std::vector<double> induction(table.size(), kNaN);
  if (needs_model(column, "induction").ok()) {
    const auto map = models::induction_map(*column.model, {}, stop, progress);
    if (!map && map.error().code == ErrorCode::kCancelled) {
      return map.error();
    }
    // A side of an encoder–decoder has heads of its own; a table of positions may be too short for the random tokens.
    if (map && map->values.size() == table.size()) {
      induction.assign(map->values.begin(), map->values.end());
    }
  }
  std::vector<Fingerprint> list;
  for (std::size_t n = 0; n < table.size(); ++n) {
    const analysis::HeadStatistics& s = table[n].statistics;
    list.push_back({s.previous_token, s.first_token, induction[n], s.mean_distance});
  }
  return list;
}

}  // namespace locus::views
