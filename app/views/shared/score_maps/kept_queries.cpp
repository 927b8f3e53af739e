#include "app/views/shared/score_maps/kept_queries.h"

#include <algorithm>

#include "core/base/controls.h"
#include "core/base/lists.h"
#include "core/base/shown.h"

namespace locus::views {

Control kept_queries_control(const std::string& what) {
  return words("queries", "Queries", "Token numbers of queries " + what + ", such as 4 9 17", "none; 4 9 17");
}

Result<std::vector<std::int64_t>> kept_queries(const ViewInput& input) {
  LOCUS_TRY(const std::string text, input.options.text("queries", ""));
  std::vector<std::int64_t> queries;
  const std::int64_t length = input.columns[0].trace->length();
  const auto numbers = parse_numbers<std::int64_t>(split_words(text, " ,"));
  if (!numbers || std::any_of(numbers->begin(), numbers->end(), [](std::int64_t query) { return query < 0; })) {
    return usage("option queries: expected token numbers such as 4 9 17, found " + shown(text));
  }
  for (const std::int64_t query : *numbers) {
    if (query < length && queries.size() < kMaxQueries) {  // a shorter text has fewer
      queries.push_back(query);
    }
  }
  return queries;
}

std::string toggled_query(const ViewInput& input, std::int64_t query) {
  const auto kept = kept_queries(input);
  std::vector<std::int64_t> queries = kept.ok() ? *kept : std::vector<std::int64_t>();
  const auto known = std::find(queries.begin(), queries.end(), query);
  known == queries.end() ? queries.push_back(query) : static_cast<void>(queries.erase(known));
  std::string text;
  for (const std::int64_t each : queries) {
    text += (text.empty() ? "" : " ") + std::to_string(each);
  }
  return text;
}

}  // namespace locus::views
