#include "core/base/lists.h"

#include <algorithm>

namespace locus {

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find_first_of(separators, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::vector<std::string_view> split_terminated(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts = split(text, separators);
  if (parts.back().empty()) {
    parts.pop_back();
  }
  return parts;
}

std::vector<std::string_view> split_words(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts = split(text, separators);
  std::erase(parts, std::string_view());
  return parts;
}

std::optional<Range> parse_range(std::string_view text) {
  const auto ends = parse_numbers<std::int64_t>(split(text, ":"));
  return ends && ends->size() == 2 ? std::optional(Range{ends->front(), ends->back()}) : std::nullopt;
}

}  // namespace locus
