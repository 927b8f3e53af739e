// TokenChips: the layout of the chips of a token strip. A picture in a text is one chip, its thumbnail, followed by its
// cells if it is open. Independent of widgets, for tests.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "models/api/model.h"

namespace locus::workbench {

struct TokenChip {
  std::int64_t token = 0;  // for a thumbnail its picture's first cell
  int picture = -1;        // the picture whose thumbnail it is; −1: a token
  int row = 0;
  int x = 0;
  int width = 0;
};

class TokenChips {
 public:
  // Width of a chip in pixels.
  using Width = std::function<int(const TokenChip& chip)>;

  // Lays out rows from `left` to `right`. Only pictures in `open` have chips for their cells.
  void lay_out(const models::Trace& trace, const std::set<int>& open, const Width& width, int left, int right, int gap);
  void clear();

  const std::vector<TokenChip>& all() const { return chips_; }
  int rows() const { return rows_; }
  // The chips of a row and of those below it.
  std::vector<TokenChip>::const_iterator from_row(int row) const;
  // The chip of a token, or the thumbnail that contains it; null: there is no such token.
  const TokenChip* of(std::int64_t token) const;
  // The chip of a row at x; null: none.
  const TokenChip* at(int row, int x) const;
  // The token in a row nearest to x, and the token `by` chips from another one; thumbnails are skipped. −1: only
  // thumbnails.
  std::int64_t in_row(int row, int x) const;
  std::int64_t beside(std::int64_t token, std::int64_t by) const;

 private:
  // Index of the nearest chip of a token from `index` on in that direction; −1: none.
  std::int64_t token_from(std::int64_t index, std::int64_t step) const;

  std::vector<TokenChip> chips_;
  std::vector<std::int64_t> of_token_;  // the chip of each token
  int rows_ = 0;
};

}  // namespace locus::workbench
