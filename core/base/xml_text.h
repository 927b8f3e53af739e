// Text of unknown origin inside XML, which has no place for most control characters, U+FFFE and U+FFFF, not even as
// character references.
#pragma once

#include <string>
#include <string_view>

namespace locus {

// `text` with what XML cannot hold, and broken UTF-8, as visible escapes (\x1B, \uFFFE). The signs of XML itself are
// left as they are.
std::string xml_text(std::string_view text);

// A text of JSON with those characters as JSON's own escapes (\u001B, \uFFFE): read again, it is the same value.
std::string xml_json(std::string_view json);

}  // namespace locus
