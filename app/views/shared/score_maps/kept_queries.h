// Queries that are kept beside the pinned one: an option that names them, and what adds one or takes it away.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/views/shared/view.h"

namespace locus::views {

// More are not told apart.
constexpr std::size_t kMaxQueries = 12;

// The option "queries": which are kept, and `what` becomes of them.
Control kept_queries_control(const std::string& what);

// The queries of that option, as the first column counts tokens; none where it is empty. Errors: kUsage with what was
// found.
Result<std::vector<std::int64_t>> kept_queries(const ViewInput& input);

// The option's text with `query` added, or taken out if it is there.
std::string toggled_query(const ViewInput& input, std::int64_t query);

}  // namespace locus::views
