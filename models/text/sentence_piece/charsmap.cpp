#include "models/text/sentence_piece/charsmap.h"

#include "models/text/utf8.h"

namespace locus::text {
namespace {

std::uint32_t uint32_at(std::string_view bytes, std::size_t at) {
  std::uint32_t word = 0;
  for (std::size_t n = 4; n-- > 0;) {
    word = (word << 8) | static_cast<std::uint8_t>(bytes[at + n]);
  }
  return word;
}

// A unit of the double array (Darts): a node's label and where its children are, or, at the end of a string, its value.
std::uint32_t children_of(std::uint32_t unit) {
  return (unit >> 10) << ((unit & 0x200U) >> 6);
}
std::uint32_t label_of(std::uint32_t unit) {
  return unit & 0x800000FFU;
}
bool ends_string(std::uint32_t unit) {
  return (unit & 0x100U) != 0;
}
std::uint32_t value_of(std::uint32_t unit) {
  return unit & 0x7FFFFFFFU;
}

// Unicode's longest decomposition has 18 characters; longer replacements could only fill memory.
constexpr std::size_t kReplacementLimit = 256;

bool is_replacement(std::string_view replacements, std::size_t at) {
  return at < replacements.size() && replacements.substr(at, kReplacementLimit).find('\0') != std::string_view::npos;
}

// Checks that every reachable index lies within the array, and every value within the replacements.
bool is_closed(const std::vector<std::uint32_t>& units, std::string_view replacements) {
  std::vector<bool> seen(units.size(), false);
  std::vector<std::uint32_t> open{0};
  seen[0] = true;
  while (!open.empty()) {
    const std::uint32_t at = open.back();
    open.pop_back();
    const std::uint32_t base = at ^ children_of(units[at]);
    if ((base | 0xFFU) >= units.size()) {
      return false;
    }
    if (ends_string(units[at]) && !is_replacement(replacements, value_of(units[base]))) {
      return false;
    }
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t child = base ^ byte;
      if (label_of(units[child]) == byte && !seen[child]) {
        seen[child] = true;
        open.push_back(child);
      }
    }
  }
  return true;
}

}  // namespace

Result<Charsmap> Charsmap::parse(std::string_view blob) {
  const std::size_t trie_bytes = blob.size() < 4 ? 0 : uint32_at(blob, 0);
  if (trie_bytes == 0 || trie_bytes % 4 != 0 || trie_bytes > blob.size() - 4) {
    return bad_input("precompiled_charsmap: expected a trie within " + std::to_string(blob.size()) + " bytes, found " +
                     std::to_string(trie_bytes));
  }
  Charsmap map;
  for (std::size_t at = 4; at < 4 + trie_bytes; at += 4) {
    map.units_.push_back(uint32_at(blob, at));
  }
  map.replacements_ = blob.substr(4 + trie_bytes);
  if (map.replacements_.empty() || map.replacements_.back() != '\0' || !is_closed(map.units_, map.replacements_)) {
    return bad_input("precompiled_charsmap: the trie points outside itself");
  }
  return map;
}

std::optional<Charsmap::Found> Charsmap::longest_prefix(std::string_view text) const {
  std::size_t length = 0;
  std::uint32_t replacement = 0;
  std::uint32_t at = children_of(units_[0]);
  for (std::size_t n = 0; n < text.size(); ++n) {
    const auto byte = static_cast<std::uint8_t>(text[n]);
    at ^= byte;
    const std::uint32_t unit = units_[at];
    if (label_of(unit) != byte) {
      break;
    }
    at ^= children_of(unit);
    if (ends_string(unit)) {
      length = n + 1;
      replacement = value_of(units_[at]);
    }
  }
  return length == 0 ? std::nullopt : std::optional(Found{length, replacements_.c_str() + replacement});
}

MappedText Charsmap::apply(const MappedText& text) const {
  const std::string_view bytes = text.text();
  MappedTextBuilder builder(text);
  for (std::size_t at = 0; at < bytes.size();) {
    if (const auto found = longest_prefix(bytes.substr(at))) {
      builder.replace(found->replacement, at, at + found->length);
      at += found->length;
    } else {
      const std::size_t end = at + character_at(bytes, at).bytes;
      builder.copy(at, end);
      at = end;
    }
  }
  return std::move(builder).finish();
}

}  // namespace locus::text
