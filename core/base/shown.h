// Text of unknown origin inside a message: always one short, printable line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace locus {

constexpr std::size_t kShownCharacters = 80;

// `text` on one line that moves no terminal: control characters, what turns the direction of writing and broken UTF-8
// as escapes (\x1B, \u202E); cut with "…" after `limit` characters.
std::string shown(std::string_view text, std::size_t limit = kShownCharacters);

// The whole of it likewise.
std::string printable(std::string_view text);

// The bytes of the UTF-8 character that starts `text`: 1…4, or 0 when there is none (broken, overlong, surrogate,
// empty).
std::size_t utf8_length(std::string_view text);

// The code of that character, which has `length` bytes.
std::uint32_t utf8_code(std::string_view text, std::size_t length);

// Whether a byte goes on with the UTF-8 character of the one before it.
constexpr bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80;
}

// The characters of UTF-8 text, where a letter with its accents apart is several.
std::size_t characters_in(std::string_view text);

// `text` and spaces up to `width` characters.
std::string padded(const std::string& text, std::size_t width);

// Whether all of `text` is well-formed UTF-8.
bool is_utf8(std::string_view text);

}  // namespace locus
