#include "app/workbench/input/token_chips.h"

#include <algorithm>

namespace locus::workbench {

namespace {

// The picture that begins at each token, and the one whose cell each token is; −1: none.
struct PictureTokens {
  std::vector<int> begins;
  std::vector<int> cell_of;
};

PictureTokens picture_tokens(const models::Trace& trace) {
  const auto length = static_cast<std::size_t>(trace.length());
  PictureTokens tokens{std::vector<int>(length, -1), std::vector<int>(length, -1)};
  const std::vector<models::ImageSpan>& images = trace.images();
  for (std::size_t n = 0; n < images.size(); ++n) {
    const models::ImageSpan& image = images[n];
    for (std::int64_t cell = 0; cell < image.count; ++cell) {
      if (const std::int64_t token = image.token(cell); token >= 0 && token < trace.length()) {
        tokens.cell_of[static_cast<std::size_t>(token)] = static_cast<int>(n);
      }
    }
    if (image.count > 0 && image.first >= 0 && image.first < trace.length()) {
      tokens.begins[static_cast<std::size_t>(image.first)] = static_cast<int>(n);
    }
  }
  return tokens;
}

}  // namespace

void TokenChips::clear() {
  chips_.clear();
  of_token_.clear();
  rows_ = 0;
}

void TokenChips::lay_out(const models::Trace& trace, const std::set<int>& open, const Width& width, int left, int right,
                         int gap) {
  clear();
  const PictureTokens pictures = picture_tokens(trace);
  of_token_.assign(static_cast<std::size_t>(trace.length()), -1);
  int x = left;
  const auto add = [&](std::int64_t token, int picture) {
    TokenChip chip{token, picture, 0, 0, 0};
    chip.width = width(chip);
    if (x + chip.width > right && x > left) {
      x = left;
      ++rows_;
    }
    chip.row = rows_;
    chip.x = x;
    x += chip.width + gap;
    chips_.push_back(chip);
    return static_cast<std::int64_t>(chips_.size()) - 1;
  };
  std::vector<std::int64_t> thumbnail(trace.images().size(), -1);
  for (std::size_t n = 0; n < of_token_.size(); ++n) {
    const auto token = static_cast<std::int64_t>(n);
    if (const int picture = pictures.begins[n]; picture >= 0) {
      thumbnail[static_cast<std::size_t>(picture)] = add(token, picture);
    }
    const int own = pictures.cell_of[n];
    of_token_[n] = own >= 0 && !open.contains(own) ? thumbnail[static_cast<std::size_t>(own)] : add(token, -1);
  }
  ++rows_;
}

std::vector<TokenChip>::const_iterator TokenChips::from_row(int row) const {
  return std::ranges::lower_bound(chips_, row, {}, &TokenChip::row);
}

const TokenChip* TokenChips::of(std::int64_t token) const {
  const bool known = token >= 0 && token < static_cast<std::int64_t>(of_token_.size());
  const std::int64_t chip = known ? of_token_[static_cast<std::size_t>(token)] : -1;
  return chip < 0 ? nullptr : &chips_[static_cast<std::size_t>(chip)];
}

const TokenChip* TokenChips::at(int row, int x) const {
  for (auto chip = from_row(row); chip != chips_.end() && chip->row == row; ++chip) {
    if (x >= chip->x && x < chip->x + chip->width) {
      return &*chip;
    }
  }
  return nullptr;
}

std::int64_t TokenChips::token_from(std::int64_t index, std::int64_t step) const {
  for (; index >= 0 && index < static_cast<std::int64_t>(chips_.size()); index += step) {
    if (const TokenChip& chip = chips_[static_cast<std::size_t>(index)]; chip.picture < 0) {
      return chip.token;
    }
  }
  return -1;
}

std::int64_t TokenChips::in_row(int row, int x) const {
  const auto begin = from_row(std::clamp(row, 0, std::max(0, rows_ - 1)));
  if (begin == chips_.end()) {
    return -1;
  }
  auto nearest = begin;
  for (auto chip = begin; chip != chips_.end() && chip->row == begin->row && chip->x <= x; ++chip) {
    nearest = chip;
  }
  const std::int64_t index = nearest - chips_.begin();
  const std::int64_t before = token_from(index, -1);
  return before >= 0 ? before : token_from(index, 1);
}

std::int64_t TokenChips::beside(std::int64_t token, std::int64_t by) const {
  const TokenChip* const from = of(token);
  if (from == nullptr) {
    return by < 0 ? token_from(static_cast<std::int64_t>(chips_.size()) - 1, -1) : token_from(0, 1);
  }
  const std::int64_t next = token_from(from - chips_.data() + by, by < 0 ? -1 : 1);
  return next < 0 ? token : next;
}

}  // namespace locus::workbench
