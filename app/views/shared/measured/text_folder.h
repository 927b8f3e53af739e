// A folder of texts that a view reads instead of its input. In a session file its path is relative to the file's
// folder.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/views/shared/measured/measured_view.h"

namespace locus::views {

// Runs of the column's model over the folder's .txt files, in the order of their names; kept in the cache. Without a
// folder, the column's own run. Errors:
// kBadInput for a folder without one, or with more than 1000; those of run(), naming the file.
Result<std::shared_ptr<const Traces>> texts_of(const std::string& folder, const MeasureContext& context);

// The tokens of the same texts, which no model runs over. Without a folder, those of the column's run. Errors likewise.
Result<std::vector<std::vector<models::TokenInfo>>> token_lists_of(const std::string& folder,
                                                                   const MeasureContext& context);

}  // namespace locus::views
