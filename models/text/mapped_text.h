// MappedText: text that keeps the source offset of every byte. Normalisers rewrite a text, but views colour the text
// that the user typed: a token's range in the source follows from its range here, whatever was composed, lowered,
// inserted or dropped.
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

// The largest result, in bytes, of rewriting a text of `bytes`: a file's replacement rules cannot fill the memory.
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
  // Source offset at which byte `at` ≤ size() begins; at size(), the end of the source of this text.
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

// Rewrites `from` from left to right. Bytes neither copied nor replaced are dropped; their source joins the preceding
// byte.
class MappedTextBuilder {
 public:
  explicit MappedTextBuilder(const MappedText& from);

  // Copies bytes [begin, end) of `from`.
  void copy(std::size_t begin, std::size_t end);
  // Writes `bytes` instead of [begin, end); with begin = end, bytes without a source.
  void replace(std::string_view bytes, std::size_t begin, std::size_t end);
  std::size_t size() const { return result_.text_.size(); }
  const std::string& text() const { return result_.text_; }  // the result so far
  // Drops what was written beyond `size` ≤ size().
  void truncate(std::size_t size);
  MappedText finish() &&;

 private:
  const MappedText& from_;
  MappedText result_;
};

}  // namespace locus::text
