// TokenChips: where the chips of a token strip lie. A picture within a text is one chip, its thumbnail, until it is
// opened: then its cells follow behind it. No widget, so that the layout can be tested by itself.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "models/api/model.h"

namespace locus::workbench {

struct TokenChip {
  std::int64_t token = 0;  // of a thumbnail its picture's first cell
  int picture = -1;        // the picture whose thumbnail it is; −1: a token
  int row = 0;
  int x = 0;
  int width = 0;
};

class TokenChips {
 public:
  // How wide a chip is, in pixels.
  using Width = std::function<int(const TokenChip& chip)>;

  // Rows of chips from `left` to `right`; the cells of pictures that are not in `open` have none.
  void lay_out(const models::Trace& trace, const std::set<int>& open, const Width& width, int left, int right, int gap);
  void clear();

  const std::vector<TokenChip>& all() const { return chips_; }
  int rows() const { return rows_; }
  // The chips of a row and those below it.
  std::vector<TokenChip>::const_iterator from_row(int row) const;
  // That of a token, or the thumbnail that stands for it; null for a token that there is not.
  const TokenChip* of(std::int64_t token) const;
  // Under a point of that row; null where there is none.
  const TokenChip* at(int row, int x) const;
  // The token of the row nearest to x from the left, and the one `by` chips from a token's; thumbnails are passed over,
  // unless nothing else is there: −1 then.
  std::int64_t in_row(int row, int x) const;
  std::int64_t beside(std::int64_t token, std::int64_t by) const;

 private:
  // The nearest chip of a token from `index` on in that direction; −1: none.
  std::int64_t token_from(std::int64_t index, std::int64_t step) const;

  std::vector<TokenChip> chips_;
  std::vector<std::int64_t> of_token_;  // the chip of each token
  int rows_ = 0;
};

}  // namespace locus::workbench
