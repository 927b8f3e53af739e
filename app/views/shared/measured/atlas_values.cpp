#include "app/views/shared/measured/atlas_values.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <sstream>

#include "app/views/shared/plots/panel.h"
#include "app/views/shared/plots/series.h"
#include "core/base/numbers.h"
#include "core/base/shown.h"

namespace locus::views {

const std::vector<AtlasStatistic>& atlas_statistics() {
  static const std::vector<AtlasStatistic> list{
      {"induction", "heads.induction", 0, "induction score"},
      {"previous", "heads.previous", 0, "weight on the previous token"},
      {"first", "heads.first", 0, "weight on the first token"},
      {"self", "heads.self", 0, "weight on the token itself"},
      {"entropy", "heads.entropy", 0, "entropy (nats)"},
      {"relative-entropy", "heads.relative-entropy", 0, "entropy / ln of the keys seen"},
      {"distance", "heads.distance", 0, "mean distance (tokens)"},
      {"bias-mean", "heads.bias-mean", 0, "distance bias μ"},
      {"bias-deviation", "heads.bias-deviation", 0, "distance bias σ"},
      {"place", "heads.place", 0, "share of the place in the variance of the logits"},
      {"word", "heads.word", 0, "share of the word in the variance of the logits"},
      {"both", "heads.both", 0, "share of place and word together"},
      {"sink", "heads.sink", 0, "largest mean weight on one key"},
      {"sink-first", "heads.sink-first", 0, "share of windows in which that key is the first"},
      {"fastest", "pairs.fastest", 0, "share of the norms in the fastest quarter of the pairs"},
      {"slowest", "pairs.slowest", 0, "share of the norms in the slowest quarter of the pairs"},
      {"half-life", "heads.decay", 0, "half-life of the state (tokens)", true},
      {"sink-queries", "sinks.queries", 0, "share of queries whose sink is key 0"},
      {"sink-weight", "sinks.weight", 0, "mean weight on key 0"},
      {"sink-value", "sinks.value-norm", 0, "norm of the value at key 0"},
      {"layer", "", 0, "layer"},
  };
  return list;
}

std::vector<std::string> atlas_statistic_names() {
  std::vector<std::string> names;
  for (const AtlasStatistic& each : atlas_statistics()) {
    names.emplace_back(each.name);
  }
  return names;
}

namespace {

const AtlasStatistic* find_statistic(const std::string& name) {
  const auto found =
      std::ranges::find_if(atlas_statistics(), [&](const AtlasStatistic& each) { return each.name == name; });
  return found == atlas_statistics().end() ? nullptr : &*found;
}

// The entries of one layer's heads.
Status add_layer(const models::Atlas& atlas, const AtlasStatistic& which, std::int64_t layer,
                 std::vector<HeadInterval>& list) {
  const auto heads = static_cast<std::size_t>(atlas.info().heads);
  LOCUS_TRY(const models::AtlasValues values, atlas.values(which.statistic, layer));
  std::vector<double> null(values.mean.size(), kNaN);
  if (atlas.has(which.statistic, models::AtlasNull::kShuffled)) {
    LOCUS_TRY(const models::AtlasValues shuffled, atlas.values(which.statistic, layer, models::AtlasNull::kShuffled));
    null = shuffled.mean;
  }
  const std::size_t each = values.mean.size() / heads;
  for (std::size_t head = 0; head < heads; ++head) {
    const std::size_t n = head * each + static_cast<std::size_t>(which.entry);
    list.push_back(which.inverse ? HeadInterval{1 / values.mean[n], 1 / values.high[n], 1 / values.low[n], 1 / null[n]}
                                 : HeadInterval{values.mean[n], values.low[n], values.high[n], null[n]});
  }
  return {};
}

}  // namespace

const char* meaning_of(const std::string& name) {
  const AtlasStatistic* const found = find_statistic(name);
  return found == nullptr ? "" : found->meaning;
}

Result<std::vector<HeadInterval>> head_intervals(const models::Atlas& atlas, const std::string& name) {
  const AtlasStatistic* const which = find_statistic(name);
  const bool of_layers = which != nullptr && *which->statistic == '\0';
  if (which == nullptr || (!of_layers && !atlas.has(which->statistic))) {
    return unsupported("the atlas has no statistic " + name + ": it was made without");
  }
  std::vector<HeadInterval> list;
  for (std::int64_t layer = 0; layer < atlas.info().layers; ++layer) {
    if (of_layers) {
      const auto place = static_cast<double>(layer);
      list.insert(list.end(), static_cast<std::size_t>(atlas.info().heads), HeadInterval{place, place, place, kNaN});
      continue;
    }
    LOCUS_CHECK(add_layer(atlas, *which, layer, list));
  }
  return list;
}

std::string with_interval(double mean, double low, double high) {
  const std::string number = short_number(mean);
  return std::isnan(low) || std::isnan(high) ? number
                                             : number + " [" + short_number(low) + ", " + short_number(high) + "]";
}

namespace {

// The places of one word's heads.
Result<std::vector<std::size_t>> heads_of_word(const std::string& word, const HeadGrid& model) {
  const auto [layers, heads] = model;
  std::vector<std::size_t> list;
  if (word == "all") {
    for (std::int64_t n = 0; n < layers * heads; ++n) {
      list.push_back(static_cast<std::size_t>(n));
    }
    return list;
  }
  const std::size_t point = word.find('.');
  const auto layer = parse_number<std::int64_t>(word.substr(0, point));
  const auto head =
      point == std::string::npos ? std::optional<std::int64_t>(0) : parse_number<std::int64_t>(word.substr(point + 1));
  if (!layer || !head || *layer < 0 || *layer >= layers || *head < 0 || *head >= heads) {
    return usage("heads: expected LAYER.HEAD, LAYER or all, layers 0 to " + std::to_string(layers - 1) +
                 " and heads 0 to " + std::to_string(heads - 1) + ", found " + shown(word));
  }
  for (std::int64_t n = *head; n < (point == std::string::npos ? heads : *head + 1); ++n) {
    list.push_back(static_cast<std::size_t>(*layer * heads + n));
  }
  return list;
}

}  // namespace

Result<std::vector<std::vector<std::size_t>>> heads_named_in(const std::string& words,
                                                             const std::vector<HeadGrid>& models) {
  std::vector<std::set<std::size_t>> chosen(models.size());
  std::istringstream typed(words);
  for (std::string word; typed >> word;) {
    std::optional<Error> missing;
    bool known = false;
    for (std::size_t n = 0; n < models.size(); ++n) {
      const auto list = heads_of_word(word, models[n]);
      known = known || list.ok();
      if (list.ok()) {
        chosen[n].insert(list->begin(), list->end());
      } else if (!missing) {
        missing = list.error();
      }
    }
    if (!known && missing) {
      return *missing;
    }
  }
  std::vector<std::vector<std::size_t>> lists;
  lists.reserve(chosen.size());
  for (const std::set<std::size_t>& each : chosen) {
    lists.emplace_back(each.begin(), each.end());
  }
  return lists;
}

Result<std::vector<std::size_t>> heads_named(const std::string& words, std::int64_t layers, std::int64_t heads) {
  LOCUS_TRY(auto lists, heads_named_in(words, {{layers, heads}}));
  return std::move(lists.front());
}

std::string windows_text(const models::AtlasInfo& info) {
  return (info.done < info.windows ? std::to_string(info.done) + " of " : "") + std::to_string(info.windows) +
         " windows of " + std::to_string(info.length) + " tokens";
}

bool has_atlas(const ViewInput& input) {
  return std::ranges::any_of(input.columns,
                             [](const Column& column) { return models::atlas_of(*column.trace) != nullptr; });
}

std::string atlases_note(const ViewInput& input, const std::string& of_runs) {
  std::string note;
  std::string alike;  // of all, where they were made alike
  bool runs = false;
  bool same = true;
  for (const Column& column : input.columns) {
    const models::Atlas* const atlas = models::atlas_of(*column.trace);
    runs = runs || atlas == nullptr;
    if (atlas != nullptr) {
      const std::string own = "95 % of the mean over " + windows_text(atlas->info());
      same = same && (alike.empty() || alike == own);
      alike = own;
      note = joined_notes(note, (input.columns.size() > 1 ? column.name + ": " : "") + own);
    }
  }
  note = same && !runs ? alike : note;
  return runs ? joined_notes(note, "others: " + of_runs) : note;
}

Status needs_head(const ViewInput& input, const std::string& view, bool mean) {
  if (input.layer == kAll || input.head == kAll || (input.head == kMean && !mean)) {
    return usage(view + ": expected one layer and one head");
  }
  return {};
}

}  // namespace locus::views
