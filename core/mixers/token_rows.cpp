#include "core/mixers/token_rows.h"

#include <algorithm>
#include <utility>

namespace locus::mixers {

TokenRows::TokenRows(const at::Tensor& x, std::int64_t axis) : axis_(axis) {
  if (x.defined()) {
    stretches_ = {x.detach()};
    length_ = x.size(axis);
  }
}

at::Tensor TokenRows::of(Range tokens) const {
  return of(tokens, {0, width()});
}

at::Tensor TokenRows::of(Range tokens, Range some) const {
  std::vector<at::Tensor> found;
  std::int64_t begin = 0;
  for (const at::Tensor& stretch : stretches_) {
    const std::int64_t size = stretch.size(axis_);
    const Range own = tokens.clamped({begin, begin + size});
    if (!own.empty()) {
      found.push_back(stretch.slice(axis_, own.begin - begin, own.end - begin).slice(1 - axis_, some.begin, some.end));
    }
    begin += size;
  }
  return found.empty()       ? stretches_.front().slice(axis_, 0, 0).slice(1 - axis_, some.begin, some.end)
         : found.size() == 1 ? found.front()
                             : at::cat(found, axis_);
}

void TokenRows::push(const at::Tensor& stretch) {
  std::int64_t size = stretch.size(axis_);
  length_ += size;
  std::size_t first = stretches_.size();
  while (first > 0 && stretches_[first - 1].size(axis_) <= size) {
    size += stretches_[--first].size(axis_);
  }
  std::vector<at::Tensor> joined(stretches_.begin() + static_cast<std::ptrdiff_t>(first), stretches_.end());
  joined.push_back(stretch);
  stretches_.resize(first);
  stretches_.push_back(joined.size() == 1 ? stretch : at::cat(joined, axis_));
}

TokenRows TokenRows::continued(std::int64_t count, const TokenRows& later) const {
  TokenRows all;
  all.axis_ = axis_;
  for (const at::Tensor& stretch : stretches_) {
    const std::int64_t size = stretch.size(axis_);
    const std::int64_t kept = std::min(size, count - all.length_);
    if (kept <= 0) {
      break;
    }
    // A few rows do not keep the memory of many.
    const at::Tensor rows = stretch.narrow(axis_, 0, kept);
    all.stretches_.push_back(2 * kept < size ? rows.clone() : rows);
    all.length_ += kept;
  }
  for (const at::Tensor& stretch : later.stretches_) {
    all.push(stretch);
  }
  return all;
}

std::vector<at::Tensor> stretches_of(std::initializer_list<TokenRows> rows) {
  std::vector<at::Tensor> all;
  for (const TokenRows& each : rows) {
    all.insert(all.end(), each.stretches().begin(), each.stretches().end());
  }
  return all;
}

}  // namespace locus::mixers
