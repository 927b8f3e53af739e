// JSON files of strangers: one document with bounded depth and memory, without duplicate keys.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace locus {

struct JsonLimits {
  int depth = 64;
  std::int64_t values = 4'000'000;  // strings, numbers, arrays, objects together
};

// The document. Errors, with `file` as context: kBadInput for malformed text, a key twice in one object, or deeper than
// the limit; kTooLarge for more values than the limit.
Result<nlohmann::json> parse_json(std::string_view text, const std::string& file, const JsonLimits& limits = {});

}  // namespace locus
