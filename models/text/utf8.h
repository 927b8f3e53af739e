// UTF-8 decoding: valid characters, and single bytes wherever the text is invalid.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace locus::text {

// One character of a text, or one byte that is part of none.
struct Character {
  char32_t code = 0;  // the code point; the byte's value when not valid
  std::uint8_t bytes = 1;
  bool valid = true;
};

// The character at `offset` < text.size(). Overlong forms, surrogates and values beyond U+10FFFF are not valid.
Character character_at(std::string_view text, std::size_t offset);

// Appends the UTF-8 of a code point up to U+10FFFF.
void append_utf8(std::string& text, char32_t code);

// Replaces every `from` (not empty) by `to`, from left to right.
void replace_all(std::string& text, std::string_view from, std::string_view to);

// The text as token strips show it: spaces (and SentencePiece's U+2581) as "·", newline as "⏎", other control
// characters and bytes that are part of no character as "<0x0A>", everything else unchanged.
std::string readable(std::string_view text);

}  // namespace locus::text
