#include "models/text/utf8.h"

#include "models/text/bpe/byte_name.h"

namespace locus::text {

Character character_at(std::string_view text, std::size_t offset) {
  const auto byte = [&](std::size_t n) { return static_cast<std::uint8_t>(text[offset + n]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) {
    return {lead, 1, true};
  }
  const Character lone{lead, 1, false};
  const int more = lead >= 0xC2 && lead < 0xE0   ? 1
                   : lead >= 0xE0 && lead < 0xF0 ? 2
                   : lead >= 0xF0 && lead < 0xF5 ? 3
                                                 : 0;
  if (more == 0 || offset + static_cast<std::size_t>(more) >= text.size()) {
    return lone;
  }
  char32_t code = lead & (0x3FU >> more);
  for (int n = 1; n <= more; ++n) {
    const std::uint8_t next = byte(static_cast<std::size_t>(n));
    if ((next & 0xC0) != 0x80) {
      return lone;
    }
    code = (code << 6) | (next & 0x3FU);
  }
  const char32_t least = more == 1 ? 0x80 : more == 2 ? 0x800 : 0x10000;
  if (code < least || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
    return lone;
  }
  return {code, static_cast<std::uint8_t>(more + 1), true};
}

void append_utf8(std::string& text, char32_t code) {
  const auto put = [&](char32_t value) { text.push_back(static_cast<char>(static_cast<std::uint8_t>(value))); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | (code >> 6));
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3F));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  }
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
