// Text that remembers where it came from. Normalisers rewrite a text; views colour the text the user typed. So every
// byte carries the offset of the source byte it begins at, and a token's range in the source follows from its range
// here, whatever was composed, lowered, inserted or dropped on the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/range.h"

namespace locus::text {

// The longest text a tokenizer takes; offsets are 32-bit.
inline constexpr std::size_t kTextLimit = std::size_t{1} << 30;

// The most bytes that rewriting a text of `bytes` may make: a file's replacement rules cannot fill the memory.
inline constexpr std::size_t growth_limit(std::size_t bytes) {
  return 32 * bytes + 4096;
}

class MappedText {
 public:
  MappedText() = default;
  // An unchanged part of the source that begins at `origin` there.
  MappedText(std::string_view text, std::uint32_t origin) : text_(text), base_(origin) {}

  const std::string& text() const { return text_; }
  std::size_t size() const { return text_.size(); }
  bool empty() const { return text_.empty(); }
  // Source offset at which byte `at` ≤ size() begins; at size(), where the source of this text ends.
  std::uint32_t origin(std::size_t at) const {
    return origins_.empty() ? base_ + static_cast<std::uint32_t>(at) : origins_[at];
  }
  // Bytes [begin, end) of this text.
  MappedText slice(std::size_t begin, std::size_t end) const;
  // The source bytes of [begin, end) here.
  Range source(std::size_t begin, std::size_t end) const { return {origin(begin), origin(end)}; }

 private:
  friend class MappedTextBuilder;
  std::string text_;
  std::uint32_t base_ = 0;
  std::vector<std::uint32_t> origins_;  // size() + 1, non-decreasing; empty: the source unchanged from base_ on
};

// Rewrites `from` left to right. What is neither copied nor replaced is dropped, and its source joins what precedes it.
class MappedTextBuilder {
 public:
  explicit MappedTextBuilder(const MappedText& from);

  // Bytes [begin, end) of `from` as they are.
  void copy(std::size_t begin, std::size_t end);
  // Other bytes in the place of [begin, end); with begin = end, bytes that stand for no source.
  void replace(std::string_view bytes, std::size_t begin, std::size_t end);
  std::size_t size() const { return result_.text_.size(); }
  const std::string& text() const { return result_.text_; }  // so far
  // Drops what was written beyond `size` ≤ size().
  void truncate(std::size_t size);
  MappedText finish() &&;

 private:
  const MappedText& from_;
  MappedText result_;
};

}  // namespace locus::text
