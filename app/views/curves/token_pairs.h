// Pairs of tokens with their logits, as a list on the figure and as a table.
#pragma once

#include <cstdint>
#include <vector>

#include "app/views/shared/view.h"
#include "models/api/kernel.h"
#include "renderers/figure/figure.h"

namespace locus::views {

// The pairs at that distance in four columns, in their order, each cell coloured by its logit.
figure::Panel token_pairs_panel(const ViewInput& input, const std::vector<models::TokenPair>& pairs,
                                std::int64_t distance);

// A row per pair: its tokens as words, their ids, the logit.
Data token_pairs_table(const std::vector<models::TokenPair>& pairs);

}  // namespace locus::views
