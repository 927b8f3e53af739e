#include "core/base/shown.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace locus {

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

std::uint32_t utf8_code(std::string_view text, std::size_t length) {
  const auto first = static_cast<std::uint8_t>(text.front());
  std::uint32_t code = length == 1 ? first : first & (0xFFU >> (length + 1));
  for (std::size_t n = 1; n < length; ++n) {
    code = code << 6U | (static_cast<std::uint8_t>(text[n]) & 0x3FU);
  }
  return code;
}

std::size_t characters_in(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char byte) { return !continues_character(byte); }));
}

std::string padded(const std::string& text, std::size_t width) {
  return text + std::string(width - std::min(width, characters_in(text)), ' ');
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

namespace {

constexpr std::string_view kHex = "0123456789ABCDEF";

// Characters that a terminal obeys instead of showing them: controls, line and paragraph separators, marks of
// direction.
bool moves(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x061C || code == 0x200E || code == 0x200F ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

std::string hex(std::uint32_t value, int digits) {
  std::string text;
  for (int digit = digits - 1; digit >= 0; --digit) {
    text += kHex[(value >> (4 * static_cast<unsigned>(digit))) & 0xFU];
  }
  return text;
}

}  // namespace

std::string shown(std::string_view text, std::size_t limit) {
  std::string line;
  std::size_t characters = 0;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::uint32_t code = length == 0 ? static_cast<std::uint8_t>(text.front()) : utf8_code(text, length);
    std::string next;
    if (length == 0 || (moves(code) && code < 0x80)) {
      next = "\\x" + hex(code, 2);
    } else {
      next = moves(code) ? "\\u" + hex(code, 4) : std::string(text.substr(0, length));
    }
    const std::size_t more = next.front() == '\\' && next.size() > 1 ? next.size() : 1;
    if (characters + more > limit) {
      return line + "…";
    }
    line += next;
    characters += more;
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return line;
}

std::string printable(std::string_view text) {
  return shown(text, std::numeric_limits<std::size_t>::max());
}

}  // namespace locus
