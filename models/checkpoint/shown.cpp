#include "models/checkpoint/shown.h"

#include <cstdint>

namespace locus::checkpoint {

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) {
    return 0;
  }
  const auto byte = [&](std::size_t n) { return n < text.size() ? static_cast<std::uint8_t>(text[n]) : 0U; };
  const auto tail = [&](std::size_t n) { return (byte(n) & 0xC0U) == 0x80U; };
  const std::uint32_t first = byte(0);
  if (first < 0x80) {
    return 1;
  }
  if (first < 0xE0) {
    return first >= 0xC2 && tail(1) ? 2 : 0;
  }
  if (first < 0xF0) {
    const bool overlong = first == 0xE0 && byte(1) < 0xA0;
    const bool surrogate = first == 0xED && byte(1) >= 0xA0;
    return !overlong && !surrogate && tail(1) && tail(2) ? 3 : 0;
  }
  const bool outside = first > 0xF4 || (first == 0xF0 && byte(1) < 0x90) || (first == 0xF4 && byte(1) >= 0x90);
  return !outside && tail(1) && tail(2) && tail(3) ? 4 : 0;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) {
      return false;
    }
    text.remove_prefix(length);
  }
  return true;
}

std::string shown(std::string_view text, std::size_t limit) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string line;
  while (!text.empty()) {
    if (line.size() >= limit) {
      return line + "…";
    }
    const std::size_t length = utf8_length(text);
    const auto first = static_cast<std::uint8_t>(text.front());
    if (length == 0 || first < 0x20 || first == 0x7F) {
      line += "\\x";
      line += kHex[first >> 4U];
      line += kHex[first & 0xFU];
      text.remove_prefix(1);
      continue;
    }
    line += text.substr(0, length);
    text.remove_prefix(length);
  }
  return line;
}

}  // namespace locus::checkpoint
