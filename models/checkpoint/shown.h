// Text of unknown origin inside a message: always one short, printable line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace locus::checkpoint {

// `text` with control bytes and broken UTF-8 as \xNN, cut with "…" after about `limit` bytes.
std::string shown(std::string_view text, std::size_t limit = 120);

// The bytes of the UTF-8 character that starts `text`: 1…4, or 0 when there is none (broken, overlong, surrogate,
// empty).
std::size_t utf8_length(std::string_view text);

// Whether all of `text` is well-formed UTF-8.
bool is_utf8(std::string_view text);

}  // namespace locus::checkpoint
