#include "app/views/curves/atlas_profile.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/base/numbers.h"

namespace locus::views {

namespace {

constexpr double kLongest = 1e9;  // distances are whole numbers far below it

Status check_edges(const std::vector<double>& edges, std::size_t bins) {
  bool rising = edges.size() == bins + 1 && edges.front() >= 0 && edges.back() <= kLongest;
  for (std::size_t n = 0; rising && n < bins; ++n) {
    rising = edges[n] < edges[n + 1] && edges[n] == std::floor(edges[n]);
  }
  if (!rising) {
    return bad_input("axes.profile.edges: expected " + std::to_string(bins + 1) + " whole distances that rise, found " +
                     std::to_string(edges.size()) + " numbers");
  }
  return {};
}

// Σ of T − Δ over the distances from `from` to before `to`: the cells of a window whose keys are not after their
// queries.
double cells_between(double from, double to, double length) {
  const double end = std::min(to, length);
  return std::max(end - from, 0.0) * (length - (from + end - 1) / 2);
}

}  // namespace

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
  LOCUS_CHECK(check_edges(edges, bins));
  const auto length = static_cast<double>(atlas.info().length);
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
    profile.cells.push_back(std::llround(cells_between(edges[bin], edges[bin + 1], length) * values.samples));
  }
  return profile;
}

}  // namespace locus::views
