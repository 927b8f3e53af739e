// A head's distance profile in an atlas, as the views have that of a run: in bins of distances, with the 95 % interval
// of the mean where a run has quantiles of its queries.
#pragma once

#include <cstddef>

#include "app/views/shared/view.h"
#include "models/api/analyses.h"
#include "models/api/atlas.h"

namespace locus::views {

// Weights of kMean are those of all heads, without an interval. Errors: kUnsupported for other quantities than weights
// and logits, and where the atlas has no profiles; kBadInput where its bins have no edges that rise. The cells of a bin
// are those of its windows whose keys are not after their queries.
Result<analysis::DistanceProfile> atlas_profile(const models::Atlas& atlas, const HeadRef& head,
                                                models::Quantity quantity,
                                                models::AtlasNull null = models::AtlasNull::kText);

// Where a bin stands on an axis of distances: the middle of those that it holds.
double bin_middle(const analysis::DistanceProfile& profile, std::size_t bin);

}  // namespace locus::views
