// Half-open ranges of token or cell indices.
#pragma once

#include <algorithm>
#include <cstdint>

namespace locus {

// [begin, end) of indices.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t size() const { return end - begin; }
  bool empty() const { return end <= begin; }
  bool contains(std::int64_t index) const { return index >= begin && index < end; }
  Range clamped(Range outer) const {
    const std::int64_t first = std::clamp(begin, outer.begin, outer.end);
    return {first, std::clamp(end, first, outer.end)};
  }
  friend bool operator==(const Range&, const Range&) = default;
};

}  // namespace locus
