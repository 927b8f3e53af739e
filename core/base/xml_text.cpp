#include "core/base/xml_text.h"

#include <array>
#include <cstdint>
#include <cstdio>

#include "core/base/shown.h"

namespace locus {

namespace {

// Char of XML 1.0, 2.2.
bool is_xml(std::uint32_t code) {
  return code >= 0x20 ? code != 0xFFFE && code != 0xFFFF : code == '\t' || code == '\n' || code == '\r';
}

std::string escape(const char* form, std::uint32_t code) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), form, code);
  return text.data();
}

// `byte` is the form of a code below 0x80 and of a byte that is no UTF-8, `other` that of all others.
std::string escaped(std::string_view text, const char* byte, const char* other) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::uint32_t code = length == 0 ? static_cast<std::uint8_t>(text.front()) : utf8_code(text, length);
    if (length > 0 && is_xml(code)) {
      out += text.substr(0, length);
    } else {
      out += escape(code < 0x100 ? byte : other, code);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

}  // namespace

std::string xml_text(std::string_view text) {
  return escaped(text, "\\x%02X", "\\u%04X");
}

std::string xml_json(std::string_view json) {
  return escaped(json, "\\u%04X", "\\u%04X");
}

}  // namespace locus
