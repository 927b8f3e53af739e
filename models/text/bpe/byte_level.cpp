#include "models/text/bpe/byte_level.h"

#include <array>

#include "models/text/utf8.h"

namespace locus::text {
namespace {

constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr std::array<char32_t, 256> make_characters() {
  std::array<char32_t, 256> characters{};
  char32_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    characters[byte] = stands_for_itself(byte) ? byte : next++;
  }
  return characters;
}
constexpr std::array<char32_t, 256> kCharacters = make_characters();

constexpr std::array<std::int16_t, 0x144> make_bytes() {
  std::array<std::int16_t, 0x144> bytes{};
  for (auto& byte : bytes) {
    byte = -1;
  }
  for (unsigned byte = 0; byte < 256; ++byte) {
    bytes[kCharacters[byte]] = static_cast<std::int16_t>(byte);
  }
  return bytes;
}
constexpr std::array<std::int16_t, 0x144> kBytes = make_bytes();

}  // namespace

std::string to_byte_level(std::string_view bytes) {
  std::string entry;
  for (const char byte : bytes) {
    append_utf8(entry, kCharacters[static_cast<std::uint8_t>(byte)]);
  }
  return entry;
}

std::optional<std::string> from_byte_level(std::string_view entry) {
  std::string bytes;
  for (std::size_t at = 0; at < entry.size();) {
    const Character character = character_at(entry, at);
    if (!character.valid || character.code >= kBytes.size() || kBytes[character.code] < 0) {
      return std::nullopt;
    }
    bytes.push_back(static_cast<char>(static_cast<std::uint8_t>(kBytes[character.code])));
    at += character.bytes;
  }
  return bytes;
}

}  // namespace locus::text
