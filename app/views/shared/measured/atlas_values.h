// Statistics of heads with their intervals and nulls, for the views of atlases.
//
// Letters: L layers, H heads.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "app/views/shared/view.h"
#include "models/api/atlas.h"
#include "models/api/atlas_trace.h"

namespace locus::views {

// A mean over the samples of an atlas, its 95 % interval, and the mean where the tokens are shuffled (NaN: none).
struct HeadInterval {
  double mean = 0;
  double low = 0;
  double high = 0;
  double null = 0;

  // Whether there is a mean of shuffled tokens, and whether it is within the interval.
  bool has_null() const { return !std::isnan(null); }
  bool like_null() const { return low <= null && null <= high; }
};

// One of the statistics of heads that points and curves are drawn of.
struct AtlasStatistic {
  const char* name;       // "induction"
  const char* statistic;  // of the file: "heads.induction"
  std::int64_t entry;     // of each head's entries
  const char* meaning;    // on an axis
  bool inverse = false;   // shown is 1 / the entry
};
// "layer", which every atlas has, and those of the file.
const std::vector<AtlasStatistic>& atlas_statistics();
std::vector<std::string> atlas_statistic_names();

// "0.25 [0.22, 0.28]", "0.25" where no interval is known.
std::string with_interval(double mean, double low, double high);

// The heads that words name: "1.2 3.0" heads by layer and head, "2" all of layer 2, "all"; as places l·H + h in
// ascending order, each once. Errors: kUsage with the word and what is there.
Result<std::vector<std::size_t>> heads_named(const std::string& words, std::int64_t layers, std::int64_t heads);

// The same in each of several models, by their layers and heads; a word may name heads of some of them alone. Errors:
// kUsage with a word that names none in any.
struct HeadGrid {
  std::int64_t layers = 0;
  std::int64_t heads = 0;
};
Result<std::vector<std::vector<std::size_t>>> heads_named_in(const std::string& words,
                                                             const std::vector<HeadGrid>& models);

// (L·H) of the statistic called `name`, head (l, h) at l·H + h. Errors: kUnsupported where the atlas has none.
Result<std::vector<HeadInterval>> head_intervals(const models::Atlas& atlas, const std::string& name);
const char* meaning_of(const std::string& name);

// "500 windows of 512 tokens", "120 of 500 windows of 512 tokens".
std::string windows_text(const models::AtlasInfo& info);

// Whether a column is an atlas.
bool has_atlas(const ViewInput& input);
// "text-rope: 95 % of the mean over 500 windows of 512 tokens" for each atlas, once for all that were made alike;
// `of_runs` for the others, if there are any.
std::string atlases_note(const ViewInput& input, const std::string& of_runs);

// kUsage unless the input has one layer and one head, or their mean where `mean` allows it.
Status needs_head(const ViewInput& input, const std::string& view, bool mean);

}  // namespace locus::views
