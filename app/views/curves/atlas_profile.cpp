#include "app/views/curves/atlas_profile.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/base/numbers.h"

namespace locus::views {

double bin_middle(const analysis::DistanceProfile& profile, std::size_t bin) {
  return static_cast<double>(profile.edges[bin] + profile.edges[bin + 1] - 1) / 2;
}

Result<analysis::DistanceProfile> atlas_profile(const models::Atlas& atlas, const HeadRef& head,
                                                models::Quantity quantity, models::AtlasNull null) {
  const bool of_weights = quantity == models::Quantity::kWeight;
  const std::string statistic = of_weights ? "profile.weight" : "profile.logit";
  if (!of_weights && (quantity != models::Quantity::kLogit || head.head == kMean)) {
    return unsupported("an atlas has profiles of weights, and of the logits of single heads");
  }
  if (!atlas.has(statistic, null)) {
    return unsupported("the atlas has no distance profile" + std::string(null == models::AtlasNull::kShuffled
                                                                             ? " of shuffled tokens"
                                                                             : ": it was made without"));
  }
  LOCUS_TRY(const models::AtlasValues values, atlas.values(statistic, head.layer, null));
  const auto bins = static_cast<std::size_t>(values.shape.back());
  const std::size_t heads = values.mean.size() / bins;
  const std::vector<double>& edges = atlas.axis("profile.edges");
  const std::vector<double>& cells = atlas.axis("profile.cells");
  if (edges.size() != bins + 1 || cells.size() != bins) {
    return bad_input("expected " + std::to_string(bins) + " bins of distances, found " + std::to_string(edges.size()) +
                     " edges and " + std::to_string(cells.size()) + " counts");
  }
  analysis::DistanceProfile profile;
  std::ranges::transform(edges, std::back_inserter(profile.edges), [](double edge) { return std::llround(edge); });
  for (std::size_t bin = 0; bin < bins; ++bin) {
    const auto at = [&](const std::vector<double>& of) {
      double sum = 0;
      for (std::size_t h = 0; h < heads; ++h) {
        sum += of[h * bins + bin];
      }
      return head.head == kMean ? sum / static_cast<double>(heads)
                                : of[static_cast<std::size_t>(head.head) * bins + bin];
    };
    profile.mean.push_back(at(values.mean));
    profile.low.push_back(head.head == kMean ? profile.mean.back() : at(values.low));
    profile.high.push_back(head.head == kMean ? profile.mean.back() : at(values.high));
    profile.cells.push_back(std::llround(cells[bin] * values.samples));
  }
  return profile;
}

}  // namespace locus::views
