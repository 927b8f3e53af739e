#include "models/text/bpe/byte_name.h"

namespace locus::text {
namespace {

constexpr std::string_view kDigits = "0123456789ABCDEF";

}  // namespace

std::string byte_name(std::uint8_t byte) {
  return {'<', '0', 'x', kDigits[byte >> 4], kDigits[byte & 15], '>'};
}

std::optional<std::uint8_t> byte_of_name(std::string_view name) {
  if (name.size() != 6 || !name.starts_with("<0x") || name.back() != '>') {
    return std::nullopt;
  }
  const std::size_t high = kDigits.find(name[3]);
  const std::size_t low = kDigits.find(name[4]);
  if (high == std::string_view::npos || low == std::string_view::npos) {
    return std::nullopt;
  }
  return static_cast<std::uint8_t>(high * 16 + low);
}

}  // namespace locus::text
