#include "models/text/steps/split.h"

#include "core/base/words.h"

namespace locus::text {

void join_fragments(const std::vector<Fragment>& fragments, Behaviour behaviour, std::vector<Span>& words) {
  const std::size_t first = words.size();
  for (std::size_t n = 0; n < fragments.size(); ++n) {
    const Fragment& fragment = fragments[n];
    if (behaviour == Behaviour::kRemoved && fragment.match) {
      continue;
    }
    const bool after = n > 0 && words.size() > first;
    const bool previous_match = n > 0 && fragments[n - 1].match;
    const bool joins = (behaviour == Behaviour::kMergedWithPrevious && fragment.match && !previous_match) ||
                       (behaviour == Behaviour::kMergedWithNext && !fragment.match && previous_match) ||
                       (behaviour == Behaviour::kContiguous && fragment.match == previous_match);
    if (after && joins) {
      words.back().end = fragment.end;
    } else {
      words.push_back({fragment.begin, fragment.end});
    }
  }
}

Result<Behaviour> parse_behaviour(const JsonObject& object, const std::string& fallback) {
  LOCUS_TRY(const std::string name, object.text("behavior", fallback));
  constexpr WordTable<Behaviour, 5> kWords{{{"Removed", Behaviour::kRemoved},
                                            {"Isolated", Behaviour::kIsolated},
                                            {"MergedWithPrevious", Behaviour::kMergedWithPrevious},
                                            {"MergedWithNext", Behaviour::kMergedWithNext},
                                            {"Contiguous", Behaviour::kContiguous}}};
  const std::optional<Behaviour> named = find_word(kWords, name);
  return named ? Result<Behaviour>(*named)
               : object.wrong("behavior", "Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous");
}

Result<Pattern> parse_pattern(const JsonObject& object) {
  LOCUS_TRY(const JsonObject pattern, object.object("pattern"));
  if (pattern.find("String") != nullptr) {
    LOCUS_TRY(std::string literal, pattern.text("String", ""));
    return Pattern::literal(std::move(literal));
  }
  LOCUS_TRY(const std::string source, pattern.text("Regex", ""));
  if (source.empty()) {
    return pattern.wrong("Regex", "a regular expression or a String");
  }
  return within(Pattern::regex(source), object.where());
}

}  // namespace locus::text
