#include "models/transformer/row_store.h"

#include <algorithm>
#include <cstring>

namespace locus::transformer {

namespace {

// Room for half as many tokens again, but for no more than 256 of them or an eighth: a run that finds none left copies
// all rows before its own.
std::int64_t capacity_for(std::int64_t length) {
  return length + std::max({std::int64_t{64}, std::min<std::int64_t>(length / 2, 256), length / 8});
}

// Copies rows [0, count) along `axis` of `from` to rows [begin, begin + count) of `to`, which is contiguous. A copy of
// ATen's of one token takes longer than its numbers.
void copy_rows(const at::Tensor& from, const at::Tensor& to, std::int64_t begin, std::int64_t count,
               std::int64_t axis) {
  if (!from.device().is_cpu() || !from.is_contiguous() || from.scalar_type() != to.scalar_type()) {
    to.narrow(axis, begin, count).copy_(from.narrow(axis, 0, count));
    return;
  }
  std::int64_t row = static_cast<std::int64_t>(from.element_size());  // bytes
  for (std::int64_t n = axis + 1; n < from.dim(); ++n) {
    row *= from.size(n);
  }
  const std::int64_t step = from.size(axis) * row;
  const std::int64_t room = to.size(axis) * row;
  const std::int64_t rows = step > 0 ? static_cast<std::int64_t>(from.nbytes()) / step : 0;
  const auto* const source = static_cast<const char*>(from.data_ptr());
  auto* const target = static_cast<char*>(to.data_ptr());
  for (std::int64_t n = 0; n < rows; ++n) {
    std::memcpy(target + n * room + begin * row, source + n * step, static_cast<std::size_t>(count * row));
  }
}

}  // namespace

std::size_t RowStore::bytes() const {
  std::size_t bytes = 0;
  for (const auto& [slot, buffer] : buffers_) {
    bytes += buffer.nbytes();
  }
  return bytes;
}

bool RowStore::is_free() const {
  return std::all_of(buffers_.begin(), buffers_.end(),
                     [](const auto& each) { return each.second.storage().use_count() == 1; });
}

ContinuedRows::ContinuedRows(std::shared_ptr<RowStore> past, std::int64_t count, std::int64_t length)
    : past_(std::move(past)), count_(count), length_(length) {
  const auto has_room = [&](const std::shared_ptr<RowStore>& store) { return store && store->capacity_ >= length; };
  if (has_room(past_) && static_cast<std::int64_t>(past_->stamps_.size()) == count) {
    store_ = past_;
    same_ = count;
    return;
  }
  if (past_ && has_room(past_->spare_) && past_->spare_->is_free()) {
    store_ = past_->spare_;
    std::vector<std::uint64_t>& stamps = store_->stamps_;
    const auto known = std::min({static_cast<std::size_t>(count), stamps.size(), past_->stamps_.size()});
    const auto end =
        std::mismatch(stamps.begin(), stamps.begin() + static_cast<std::ptrdiff_t>(known), past_->stamps_.begin());
    same_ = end.first - stamps.begin();
    stamps.resize(static_cast<std::size_t>(same_));  // the rows after these are about to be overwritten
    return;
  }
  store_ = std::make_shared<RowStore>();
  store_->capacity_ = capacity_for(length);
  store_->last_stamp_ = past_ ? past_->last_stamp_ : std::make_shared<std::uint64_t>(0);
}

at::Tensor ContinuedRows::join(RowStore::Slot slot, const at::Tensor& before, const at::Tensor& after,
                               std::int64_t axis) {
  if (!before.defined() || !after.defined()) {
    return {};
  }
  std::vector<std::int64_t> sizes = after.sizes().vec();
  sizes[static_cast<std::size_t>(axis)] = store_->capacity_;
  const auto known = store_->buffers_.find(slot);
  const bool fits = known != store_->buffers_.end() && known->second.sizes() == sizes &&
                    known->second.scalar_type() == after.scalar_type() && known->second.device() == after.device();
  const at::Tensor buffer = fits ? known->second : at::empty(sizes, after.options());
  const std::int64_t same = fits ? same_ : 0;
  if (same < count_) {
    buffer.narrow(axis, same, count_ - same).copy_(before.narrow(axis, same, count_ - same));
  }
  copy_rows(after, buffer, count_, length_ - count_, axis);
  joined_[slot] = buffer;
  return buffer.narrow(axis, 0, length_);
}

std::shared_ptr<RowStore> ContinuedRows::finish() {
  std::vector<std::uint64_t> stamps(static_cast<std::size_t>(count_));
  // Rows of a run outside any store get stamps here; rows of a store keep theirs.
  const std::vector<std::uint64_t>* const old = past_ ? &past_->stamps_ : nullptr;
  for (std::size_t n = 0; n < stamps.size(); ++n) {
    stamps[n] = old != nullptr && n < old->size() ? (*old)[n] : ++*store_->last_stamp_;
  }
  for (std::int64_t n = count_; n < length_; ++n) {
    stamps.push_back(++*store_->last_stamp_);
  }
  store_->stamps_ = std::move(stamps);
  store_->buffers_ = std::move(joined_);
  if (past_ && store_ != past_) {
    past_->spare_.reset();
    store_->spare_ = past_;
  }
  return store_;
}

}  // namespace locus::transformer
