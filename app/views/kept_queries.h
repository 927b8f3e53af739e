// Queries that are kept beside the pinned one: an option that names them, and a click that adds or takes one away.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/views/view.h"

namespace locus::views {

// More are not told apart.
constexpr std::size_t kMostQueries = 12;

// The options "keep" (whether a click keeps) and "queries" (which are kept), `what` becomes of them.
std::vector<Control> kept_query_controls(const std::string& what);

// Those of the option, as the first column counts tokens; none where it is empty. Errors: kUsage with what was found.
Result<std::vector<std::int64_t>> kept_queries(const ViewInput& input);

// Where clicks keep: puts `query` into the selection's option, or takes it out if it is kept.
void keep_query(const ViewInput& input, std::int64_t query, Selection& selection);

}  // namespace locus::views
