// JSON as a stream of events: nothing is kept but the names of the objects that are still open, so the memory of a
// hostile text is bounded by its size, and its depth by a limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace locus::formats {

struct JsonEvent {
  enum class Kind {
    kNull,
    kBool,
    kInteger,  // fits int64
    kNumber,   // has a fraction or exponent, or is beyond int64
    kText,
    kBeginObject,
    kKey,  // the name of the value that follows, in `text`
    kEndObject,
    kBeginArray,
    kEndArray,
  };
  Kind kind = Kind::kNull;
  bool boolean = false;
  std::int64_t integer = 0;
  double number = 0;      // of kInteger too
  std::string_view text;  // valid during the call

  // "the number 4", "the text \"half\"", "a list", …: what an error message says was found.
  std::string describe() const;
};

struct JsonLimits {
  std::size_t depth = 64;         // of nested objects and lists
  std::size_t nodes = 4'000'000;  // values and names
};

// Calls `handle` for each event of the one JSON value in `text`, and stops at its first error. Errors, without a file
// name: kBadInput for what is not JSON (with the byte), a name twice in one object, too deep or too many values.
Status read_json(std::string_view text, const JsonLimits& limits,
                 const std::function<Status(const JsonEvent&)>& handle);

// The same of the one YAML document in `text`: mappings become objects, sequences lists, plain scalars null, true,
// false or numbers where YAML's core schema says so, and texts otherwise.
Status read_yaml(std::string_view text, const JsonLimits& limits,
                 const std::function<Status(const JsonEvent&)>& handle);

// `text` as a JSON string with its quotes. Precondition: is_utf8(text).
std::string json_quote(std::string_view text);

}  // namespace locus::formats
