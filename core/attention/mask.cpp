#include "core/attention/mask.h"

#include <algorithm>
#include <map>
#include <utility>

namespace locus::attention {

std::shared_ptr<const Blocks> Blocks::make(std::vector<std::int64_t> of, bool alone, BlocksInWindows windows) {
  auto blocks = std::make_shared<Blocks>();
  std::map<std::int64_t, Range> spans;
  std::map<std::int64_t, std::int64_t> sizes;
  for (std::size_t n = 0; n < of.size(); ++n) {
    const auto token = static_cast<std::int64_t>(n);
    Range& span = spans.try_emplace(of[n], Range{token, token}).first->second;
    span.end = token + 1;
    ++sizes[of[n]];
  }
  blocks->span.reserve(of.size());
  for (const std::int64_t block : of) {
    blocks->span.push_back(block < 0 ? Range{} : spans.at(block));
  }
  for (const auto& [block, span] : spans) {
    blocks->scattered = blocks->scattered || (block >= 0 && sizes.at(block) != span.size());
  }
  blocks->of = std::move(of);
  blocks->alone = alone;
  blocks->windows = windows;
  return blocks;
}

Mask Mask::with(std::shared_ptr<const Blocks> others) const {
  Mask mask = *this;
  const bool fits = others == nullptr || others->windows != BlocksInWindows::kCutOnly || (causal && window > 0);
  mask.blocks = fits ? std::move(others) : nullptr;
  return mask;
}

Range Mask::ordered_columns(Range rows, std::int64_t length) const {
  std::int64_t first = window > 0 ? rows.begin - window + 1 : 0;
  if (chunk > 0) {
    first = std::max(first, rows.begin / chunk * chunk);
  }
  const std::int64_t last = causal ? rows.end : window > 0 ? rows.end - 1 + window : length;
  return Range{std::max<std::int64_t>(first, 0), std::min(last, length)};
}

bool Mask::order_covers(Range rows, Range columns) const {
  const bool ahead = causal ? columns.end - 1 <= rows.begin : window <= 0 || columns.end - 1 < rows.begin + window;
  return ahead && (window <= 0 || columns.begin > rows.end - 1 - window) &&
         (chunk <= 0 || columns.begin >= (rows.end - 1) / chunk * chunk);
}

Range Mask::columns(Range rows, std::int64_t length) const {
  if (blocks == nullptr) {
    return ordered_columns(rows, length);
  }
  Range seen = blocks->alone ? Range{} : ordered_columns(rows, length);
  const bool cut = cuts_blocks();
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    if (Range span = blocks->span[static_cast<std::size_t>(row)]; !span.empty()) {
      span.begin = cut ? std::max(span.begin, row - window + 1) : span.begin;
      seen = seen.empty() ? span : Range{std::min(seen.begin, span.begin), std::max(seen.end, span.end)};
    }
  }
  return Range{seen.begin, std::min(seen.end, length)};
}

bool Mask::covers(Range rows, Range columns) const {
  if (blocks == nullptr) {
    return order_covers(rows, columns);
  }
  if (blocks->scattered) {
    return false;
  }
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    const Range seen = this->columns({row, row + 1}, columns.end);
    if (seen.begin > columns.begin || seen.end < columns.end) {
      return false;
    }
  }
  return true;
}

at::Tensor Mask::hidden(Range rows, Range columns, at::Device device) const {
  const auto options = at::TensorOptions(at::kLong).device(device);
  const at::Tensor row = at::arange(rows.begin, rows.end, options).unsqueeze(1);
  const at::Tensor column = at::arange(columns.begin, columns.end, options).unsqueeze(0);
  at::Tensor mask = causal ? column > row : at::zeros({rows.size(), columns.size()}, options.dtype(at::kBool));
  if (window > 0) {
    mask = mask.logical_or(column <= row - window);
    mask = causal ? mask : mask.logical_or(column >= row + window);
  }
  if (chunk > 0) {
    mask = mask.logical_or(column < row.div(chunk, "floor") * chunk);
  }
  if (blocks == nullptr) {
    return mask;
  }
  const at::Tensor of = at::tensor(at::ArrayRef<std::int64_t>(blocks->of), at::kLong).to(device);
  const at::Tensor own = of.slice(0, rows.begin, rows.end).unsqueeze(1);
  const at::Tensor outside = own.ne(of.slice(0, columns.begin, columns.end).unsqueeze(0)).logical_or(own.lt(0));
  if (blocks->alone) {
    return outside;
  }
  const at::Tensor unseen = mask.logical_and(outside);
  return cuts_blocks() ? unseen.logical_or(column <= row - window) : unseen;
}

}  // namespace locus::attention
