#include "app/views/shared/measured/fingerprint.h"

#include "app/views/shared/plots/series.h"
#include "core/base/numbers.h"
#include "models/api/analyses.h"

namespace locus::views {

Result<std::vector<Fingerprint>> fingerprints(const Column& column, const Range& layers, const StopToken& stop,
                                              const Progress& progress) {
  models::HeadTableOptions options;
  options.bias_pairs = 0;
  options.layers = layers;
  LOCUS_TRY(const auto table, models::head_table(*column.trace, options, stop, progress));
  std::vector<Fingerprint> list;
  list.reserve(table.size());
  for (const models::HeadRow& row : table) {
    const analysis::HeadStatistics& s = row.statistics;
    list.push_back({s.previous_token, s.first_token, kNaN, s.mean_distance, s.entropy, s.self, row.on_images,
                    s.sink.weight, s.sink.key});
  }
  return list;
}

Result<std::vector<double>> induction_scores(const Column& column, const StopToken& stop, const Progress& progress) {
  const models::ModelInfo& model = column.trace->model();
  if (!needs_model(column, "induction").ok()) {
    return std::vector<double>();
  }
  const auto map = models::induction_map(*column.model, {}, stop, progress);
  if (!map && map.error().code == ErrorCode::kCancelled) {
    return map.error();
  }
  // A side of an encoder–decoder has heads of its own; a table of positions may be too short for the random tokens.
  if (!map || map->values.size() != static_cast<std::size_t>(model.layers * model.heads)) {
    return std::vector<double>();
  }
  return std::vector<double>(map->values.begin(), map->values.end());
}

}  // namespace locus::views
