#include "models/text/base64.h"

#include <cstdint>

namespace locus::text {
namespace {

int digit_of(char symbol) {
  if (symbol >= 'A' && symbol <= 'Z') {
    return symbol - 'A';
  }
  if (symbol >= 'a' && symbol <= 'z') {
    return symbol - 'a' + 26;
  }
  if (symbol >= '0' && symbol <= '9') {
    return symbol - '0' + 52;
  }
  return symbol == '+' ? 62 : symbol == '/' ? 63 : -1;
}

}  // namespace

std::optional<std::string> from_base64(std::string_view text) {
  while (text.ends_with('=')) {
    text.remove_suffix(1);
  }
  if (text.size() % 4 == 1) {
    return std::nullopt;
  }
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t bits = 0;
  int held = 0;
  for (const char symbol : text) {
    const int digit = digit_of(symbol);
    if (digit < 0) {
      return std::nullopt;
    }
    bits = (bits << 6) | static_cast<std::uint32_t>(digit);
    held += 6;
    if (held >= 8) {
      held -= 8;
      bytes.push_back(static_cast<char>(static_cast<std::uint8_t>(bits >> held)));
    }
  }
  return bytes;
}

}  // namespace locus::text
