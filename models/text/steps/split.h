// Splitting at matches of a pattern, and the treatment of the delimiter.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "models/formats/json/json.h"
#include "models/text/steps/pattern.h"

namespace locus::text {

// Bytes [begin, end) of a text: one word to the token model.
struct Span {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

enum class Behaviour { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

// Appends the words formed by the fragments.
void join_fragments(const std::vector<Fragment>& fragments, Behaviour behaviour, std::vector<Span>& words);

// The field "behavior" of a pre-tokenizer. Errors: kBadInput for an unknown one.
Result<Behaviour> parse_behaviour(const JsonObject& object, const std::string& fallback);

// The field "pattern": {"String": …} or {"Regex": …}. Errors: kBadInput naming the object.
Result<Pattern> parse_pattern(const JsonObject& object);

}  // namespace locus::text
