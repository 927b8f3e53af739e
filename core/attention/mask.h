// Mask: which keys a query sees. A rule of order (causal, window, chunk) and, beside it or instead of it, blocks of
// tokens that see each other whatever their order: the cells of one picture, a prefix, the patches of a window.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/range.h"

namespace locus::attention {

// What the window of a causal layer does to blocks.
enum class BlocksInWindows {
  kWhole,   // nothing: a token sees all of its block
  kCut,     // it hides what is before it of a token's own block too; in other layers blocks are whole (Gemma 3)
  kCutOnly  // the same; other layers have no blocks (Gemma 4)
};

// Which block each of T tokens is of.
struct Blocks {
  std::vector<std::int64_t> of;  // (T) number of the block; negative: none
  std::vector<Range> span;       // (T) from the first to behind the last token of its block; empty: none
  bool alone = false;            // a token sees its block alone; otherwise what the mask's order says as well
  bool scattered = false;        // some block has tokens of others, or of none, between its own
  BlocksInWindows windows = BlocksInWindows::kWhole;

  // Only blocks that are all a token sees may be scattered, and no window cuts those.
  static std::shared_ptr<const Blocks> make(std::vector<std::int64_t> of, bool alone,
                                            BlocksInWindows windows = BlocksInWindows::kWhole);
  bool same(std::int64_t row, std::int64_t column) const {
    const std::int64_t own = of[static_cast<std::size_t>(row)];
    return own >= 0 && own == of[static_cast<std::size_t>(column)];
  }
};

struct Mask {
  bool causal = true;                              // keys j ≤ i
  std::int64_t window = 0;                         // keys j > i − window, and without `causal` j < i + window; 0: all
  std::int64_t chunk = 0;                          // causal alone: keys of the query's own chunk ⌊i/chunk⌋; 0: all
  std::shared_ptr<const Blocks> blocks = nullptr;  // null: none

  bool visible(std::int64_t row, std::int64_t column) const {
    const Range keys = columns({row, row + 1}, row > column ? row + 1 : column + 1);
    return keys.begin <= column && column < keys.end && (!scattered() || blocks->same(row, column));
  }
  // Whether columns() of a row holds keys that it does not see; blocks are then all that it sees.
  bool scattered() const { return blocks != nullptr && blocks->scattered; }
  // With these blocks, unless they are not for a mask like this one.
  Mask with(std::shared_ptr<const Blocks> others) const;
  // The smallest range that holds every key any of these queries sees, of T keys.
  Range columns(Range rows, std::int64_t length) const;
  // Whether every query of `rows` sees every key of `columns`.
  bool covers(Range rows, Range columns) const;
  // (R, K) bool, true where the key is hidden.
  at::Tensor hidden(Range rows, Range columns, at::Device device) const;

 private:
  // Whether the window hides tokens of a query's own block.
  bool cuts_blocks() const { return causal && window > 0 && blocks->windows != BlocksInWindows::kWhole; }
  Range ordered_columns(Range rows, std::int64_t length) const;
  bool order_covers(Range rows, Range columns) const;
};

}  // namespace locus::attention
