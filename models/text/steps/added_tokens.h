// Added tokens: strings that are one token wherever they appear, found before the token model sees the text.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "models/text/flat_map.h"

namespace locus::text {

struct AddedToken {
  std::string content = {};
  std::int32_t id = 0;
  bool special = false;
  bool normalized = false;   // searched in the normalised text, in its normalised form
  bool left_strip = false;   // takes the white space before it
  bool right_strip = false;  // and after it
  bool single_word = false;  // not inside a word
};

// Bytes [begin, end) of a text: an added token, or text between them (null).
struct Segment {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  const AddedToken* token = nullptr;
};

// Finds the longest of a set of strings at each place, left to right.
class AddedTokenFinder {
 public:
  // `as` is the searched text (the content, or its normalised form); an empty one is never found. `token` must outlive
  // the finder.
  void add(std::string_view as, const AddedToken& token);
  bool empty() const { return ends_.empty(); }
  struct Match {
    std::size_t end = 0;
    const AddedToken* token = nullptr;  // null: none
  };
  // The longest one that begins at `at` < text.size().
  Match longest_at(std::string_view text, std::size_t at) const;
  // The text as segments in order, none empty.
  std::vector<Segment> split(std::string_view text) const;

 private:
  FlatMap edges_;  // (node, byte) → child
  std::uint32_t nodes_ = 0;
  std::unordered_map<std::uint32_t, const AddedToken*> ends_;
  std::array<bool, 256> begins_{};
};

}  // namespace locus::text
