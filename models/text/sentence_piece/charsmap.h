// SentencePiece's precompiled normalisation: a double-array trie from byte strings to their replacements.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "models/text/mapped_text.h"

namespace locus::text {

class Charsmap {
 public:
  // The blob: trie size in bytes (uint32, little-endian), trie, replacements ended by zero bytes. Errors: kBadInput
  // when sizes, nodes or replacements lie outside it (SentencePiece itself follows them unchecked).
  static Result<Charsmap> parse(std::string_view blob);

  struct Found {
    std::size_t length = 0;
    std::string_view replacement;  // within this map
  };
  // The longest known string that begins the text.
  std::optional<Found> longest_prefix(std::string_view text) const;

  // Replaces the longest known string at each place; other characters stay.
  MappedText apply(const MappedText& text) const;

 private:
  std::vector<std::uint32_t> units_;
  std::string replacements_;
};

}  // namespace locus::text
