#include "app/views/heads/heads_table.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "app/views/shared/measured/atlas_values.h"
#include "app/views/shared/plots/series.h"
#include "core/base/numbers.h"
#include "models/api/addressing.h"
#include "models/api/analyses.h"
#include "models/api/pairs.h"

namespace locus::views {

const std::array<HeadStatistic, kHeadStatistics> kHeadStatisticList{{
    {"entropy", "entropy", "entropy (nats)", false, "entropy"},
    {"relative-entropy", "rel. entropy", "entropy / ln of the keys seen", false, "relative-entropy"},
    {"mean-distance", "distance", "mean distance (tokens)", false, "distance"},
    {"previous-token", "previous", "weight on the previous token", false, "previous"},
    {"first-token", "first", "weight on the first token", false, "first"},
    {"self", "self", "weight on the token itself", false, "self"},
    {"sink", "sink", "largest mean weight on one key", false, "sink"},
    {"sink-token", "sink at", "index of that key", false, "", true},
    {"on-images", "on images", "weight of words on the pictures before them"},
    {"on-text", "on text", "weight of words behind a picture on everything else"},
    {"induction", "induction", "induction score", false, "induction"},
    {"gate-selectivity", "gates", "gate selectivity"},
    {"distance-bias", "bias", "counterfactual distance bias", true, "bias-mean"},
    {"wavelength", "wavelength", "wavelength around which the norms of pairs lie (tokens)"},
    {"carrier", "carrier", "R² of the carrier over distance", true},
    {"still-pairs", "still", "share of the variance from pairs that never complete a turn", true},
    {"concentration", "resultant", "mean resultant length of the strongest pair"},
    {"fastest", "fast", "share of the norms in the fastest quarter of the pairs", false, "fastest"},
    {"slowest", "slow", "share of the norms in the slowest quarter of the pairs", false, "slowest"},
    {"place", "place", "share of the place in the variance of the logits", false, "place"},
    {"word", "word", "share of the word in the variance of the logits", false, "word"},
    {"both", "both", "share of place and word together in the variance of the logits", false, "both"},
}};

namespace {

constexpr std::int64_t kSplitQueries = 64;  // whose logits are split into place and word

// One list per layer; none where no layer can be split.
Result<std::vector<analysis::LayerAddressing>> addressed_heads(const Column& column, const StopToken& stop,
                                                               const Progress& progress) {
  auto layers = models::addressing(*column.trace, {.queries = kSplitQueries}, stop, progress);
  const bool none = !layers.ok() && (layers.error().code == ErrorCode::kUnsupported ||
                                     layers.error().code == ErrorCode::kBadInput);  // a text of two tokens
  return none ? std::vector<analysis::LayerAddressing>() : std::move(layers);
}

}  // namespace

Result<HeadRows> measure_heads(const Column& column, std::int64_t repeats, const StopToken& stop,
                               const Progress& progress) {
  LOCUS_TRY(const auto table, models::head_table(*column.trace, {}, stop, progress));
  std::optional<Field> induction;
  // Induction is measured on attention.
  if (repeats > 0 && needs_model(column, "induction").ok() && !column.trace->model().of_mixers()) {
    models::InductionOptions random;
    random.repeats = repeats;
    auto map = models::induction_map(*column.model, random, stop, progress);
    // A table of positions may be too short for the random tokens; the rest of the table still stands.
    if (!map && map.error().code != ErrorCode::kBadInput) {
      return map.error();
    }
    if (map) {
      induction = *std::move(map);
    }
  }
  LOCUS_TRY(const auto pairs, models::pair_statistics(*column.trace, stop, progress));
  LOCUS_TRY(const auto split, addressed_heads(column, stop, progress));
  HeadRows rows;
  for (const models::HeadRow& each : table) {
    const analysis::HeadStatistics& s = each.statistics;
    const double repeated = induction ? static_cast<double>(induction->at(each.layer, each.head)) : kNaN;
    const auto& layer = pairs[static_cast<std::size_t>(each.layer)];
    const analysis::PairStatistics own = layer.empty() ? analysis::PairStatistics{kNaN, kNaN, kNaN, kNaN, kNaN, kNaN}
                                                       : layer[static_cast<std::size_t>(each.head)];
    const auto at = static_cast<std::size_t>(each.layer);
    const bool divided = at < split.size() && !split[at].heads.empty();
    const analysis::Addressing shares =
        divided ? split[at].heads[static_cast<std::size_t>(each.head)] : analysis::Addressing{kNaN, kNaN, kNaN};
    rows.push_back({each.layer, each.head, {s.entropy,          s.relative_entropy,
                                            s.mean_distance,    s.previous_token,
                                            s.first_token,      s.self,
                                            s.sink.weight,      s.sink.key < 0 ? kNaN : static_cast<double>(s.sink.key),
                                            each.on_images,     each.on_text,
                                            repeated,           s.gate_selectivity,
                                            each.distance_bias, own.centroid,
                                            own.explained,      own.still_share,
                                            own.concentration,  own.fastest,
                                            own.slowest,        shares.place,
                                            shares.word,        shares.both}});
  }
  return rows;
}

Result<HeadRows> atlas_heads(const models::Atlas& atlas) {
  HeadRows rows;
  for (std::int64_t layer = 0; layer < atlas.info().layers; ++layer) {
    for (std::int64_t head = 0; head < atlas.info().heads; ++head) {
      HeadRow& row = rows.emplace_back(HeadRow{layer, head});
      row.values.fill(kNaN);
      row.of_atlas = true;
    }
  }
  bool any = false;
  for (std::size_t n = 0; n < kHeadStatistics; ++n) {
    const char* const name = kHeadStatisticList[n].of_atlas;
    const auto list = *name == '\0' ? unsupported("") : head_intervals(atlas, name);
    for (std::size_t at = 0; list.ok() && at < rows.size(); ++at) {
      const HeadInterval& own = (*list)[at];
      rows[at].values[n] = own.mean;
      rows[at].half[n] = (own.high - own.low) / 2;
      rows[at].like_null[n] = own.like_null() ? 1 : 0;
    }
    any = any || list.ok();
  }
  if (!any) {
    return unsupported("the atlas has no statistics of heads: it was made without");
  }
  return rows;
}

std::string cell_text(const HeadRow& row, std::size_t statistic) {
  const bool counts = kHeadStatisticList[statistic].counts && !std::isnan(row.values[statistic]);
  const std::string value = counts ? fixed_text(row.values[statistic], 0) : short_number(row.values[statistic]);
  if (!row.of_atlas || std::isnan(row.half[statistic])) {
    return value;
  }
  const std::string text = value + " ± " + short_number(row.half[statistic]);
  return row.like_null[statistic] != 0 ? "(" + text + ")" : text;
}

std::vector<std::string> statistic_names() {
  std::vector<std::string> names;
  names.reserve(kHeadStatisticList.size());
  for (const HeadStatistic& each : kHeadStatisticList) {
    names.emplace_back(each.name);
  }
  std::rotate(names.begin(), names.begin() + 3, names.begin() + 4);  // what is looked for most comes first
  return names;
}

std::size_t statistic_named(const std::string& name) {
  const auto found = std::find_if(kHeadStatisticList.begin(), kHeadStatisticList.end(),
                                  [&](const HeadStatistic& each) { return each.name == name; });
  return static_cast<std::size_t>(found - kHeadStatisticList.begin());
}

std::vector<std::size_t> sorted_heads(const HeadRows& rows, const HeadsOptions& options) {
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const double x = rows[a].values[options.statistic];
    const double y = rows[b].values[options.statistic];
    if (std::isnan(x) || std::isnan(y)) {
      return std::isnan(y) && !std::isnan(x);
    }
    return options.ascending ? x < y : x > y;
  });
  return order;
}

std::size_t first_shown(std::size_t count, const HeadsOptions& options) {
  const auto rows = static_cast<std::size_t>(options.rows);
  return std::min(static_cast<std::size_t>(options.from), count > rows ? count - rows : 0);
}

std::vector<std::size_t> shown_heads(const HeadRows& rows, const HeadsOptions& options) {
  const std::vector<std::size_t> all = sorted_heads(rows, options);
  const std::size_t first = first_shown(all.size(), options);
  const std::size_t last = std::min(all.size(), first + static_cast<std::size_t>(options.rows));
  return {all.begin() + static_cast<std::ptrdiff_t>(first), all.begin() + static_cast<std::ptrdiff_t>(last)};
}

std::vector<std::size_t> shown_statistics(const std::vector<std::shared_ptr<const HeadRows>>& all) {
  std::vector<std::size_t> shown;
  for (std::size_t n = 0; n < kHeadStatistics; ++n) {
    const bool any = std::any_of(all.begin(), all.end(), [n](const auto& rows) {
      return std::any_of(rows->begin(), rows->end(), [n](const HeadRow& row) { return !std::isnan(row.values[n]); });
    });
    if (any) {
      shown.push_back(n);
    }
  }
  return shown;
}

std::string rows_text(std::size_t shown, std::size_t count, const HeadsOptions& options) {
  if (shown == count) {
    return std::to_string(count) + " heads";
  }
  const std::size_t first = first_shown(count, options);
  return "rows " + std::to_string(first) + " to " + std::to_string(first + shown - 1) + " of " + std::to_string(count) +
         " heads";
}

}  // namespace locus::views
