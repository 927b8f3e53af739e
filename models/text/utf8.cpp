#include "models/text/utf8.h"

#include <unicode/utf8.h>

#include <algorithm>
#include <array>

#include "models/text/bpe/byte_level.h"

namespace locus::text {

Character character_at(std::string_view text, std::size_t offset) {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(text.data()) + offset;
  const auto most = static_cast<std::int32_t>(std::min<std::size_t>(text.size() - offset, U8_MAX_LENGTH));
  std::int32_t next = 0;
  UChar32 code = 0;
  U8_NEXT(bytes, next, most, code);
  return code < 0 ? Character{bytes[0], 1, false}
                  : Character{static_cast<char32_t>(code), static_cast<std::uint8_t>(next), true};
}

void append_utf8(std::string& text, char32_t code) {
  std::array<std::uint8_t, U8_MAX_LENGTH> bytes{};
  std::size_t count = 0;
  U8_APPEND_UNSAFE(bytes, count, code);
  text.append(bytes.begin(), bytes.begin() + count);
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  std::string result;
  std::size_t at = 0;
  for (std::size_t found = text.find(from); found != std::string::npos; found = text.find(from, at)) {
    result.append(text, at, found - at).append(to);
    at = found + from.size();
  }
  if (at > 0) {
    text = result.append(text, at);
  }
}

std::string readable(std::string_view text) {
  std::string shown;
  for (std::size_t at = 0; at < text.size();) {
    const Character character = character_at(text, at);
    const bool control = character.code < 0x20 || (character.code >= 0x7F && character.code < 0xA0);
    if (character.code == ' ' || character.code == 0x2581) {
      shown += "·";
    } else if (character.code == '\n') {
      shown += "⏎";
    } else if (!character.valid || control) {
      for (std::size_t n = 0; n < character.bytes; ++n) {
        shown += byte_name(static_cast<std::uint8_t>(text[at + n]));
      }
    } else {
      shown += text.substr(at, character.bytes);
    }
    at += character.bytes;
  }
  return shown;
}

}  // namespace locus::text
