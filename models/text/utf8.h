// UTF-8 as it comes: valid characters, and lone bytes wherever the text is not valid.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace locus::text {

// One character of a text, or one byte that belongs to none.
struct Character {
  char32_t code = 0;  // the code point; the byte's value when not valid
  std::uint8_t bytes = 1;
  bool valid = true;
};

// The character at `offset` < text.size(). Overlong forms, surrogates and values beyond U+10FFFF are not valid.
Character character_at(std::string_view text, std::size_t offset);

// Appends the UTF-8 of a code point up to U+10FFFF.
void append_utf8(std::string& text, char32_t code);

// Puts `to` in the place of every `from` (not empty), left to right.
void replace_all(std::string& text, std::string_view from, std::string_view to);

// The text as a token strip shows it: spaces (and SentencePiece's U+2581) as "·", newline as "⏎", other control
// characters and bytes outside any character as "<0x0A>", everything else as it is.
std::string readable(std::string_view text);

}  // namespace locus::text
