#include "models/transformer/row_store.h"

#include <ATen/core/DimVector.h>

#include <algorithm>
#include <cstring>

namespace locus::transformer {

namespace {

// Room for as many tokens again, but for no fewer than 64 and no more than 512 of them or an eighth: a run that finds
// none left copies all rows before its own.
std::int64_t capacity_for(std::int64_t length) {
  return length + std::max(std::clamp<std::int64_t>(length, 64, 512), length / 8);
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

// The first `length` rows along `axis`, as narrow() gives them, which takes longer than to copy a token's rows.
at::Tensor first_rows(const at::Tensor& buffer, std::int64_t length, std::int64_t axis) {
  at::DimVector sizes(buffer.sizes().begin(), buffer.sizes().end());
  sizes[static_cast<std::size_t>(axis)] = length;
  at::Tensor view = at::detail::make_tensor<c10::TensorImpl>(c10::TensorImpl::VIEW, c10::Storage(buffer.storage()),
                                                             buffer.key_set(), buffer.dtype());
  view.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, buffer.strides());
  return view;
}

// Whether a buffer is of such tensors with room for `rows` along `axis`.
bool is_of(const at::Tensor& buffer, const at::Tensor& like, std::int64_t rows, std::int64_t axis) {
  bool same = buffer.defined() && buffer.dim() == like.dim() && buffer.scalar_type() == like.scalar_type() &&
              buffer.device() == like.device();
  for (std::int64_t n = 0; same && n < like.dim(); ++n) {
    same = buffer.size(n) == (n == axis ? rows : like.size(n));
  }
  return same;
}

}  // namespace

std::size_t RowStore::bytes() const {
  std::size_t bytes = 0;
  for (const at::Tensor& buffer : buffers_) {
    bytes += buffer.defined() ? buffer.nbytes() : 0;
  }
  return bytes;
}

bool RowStore::is_free() const {
  return std::all_of(buffers_.begin(), buffers_.end(),
                     [](const at::Tensor& buffer) { return !buffer.defined() || buffer.storage().use_count() == 1; });
}

at::Tensor RowStore::new_buffer(const at::Tensor& rows, std::int64_t axis) {
  std::vector<std::int64_t> sizes = rows.sizes().vec();
  sizes[static_cast<std::size_t>(axis)] = capacity_;
  std::int64_t bytes = static_cast<std::int64_t>(rows.element_size());
  for (const std::int64_t size : sizes) {
    bytes *= size;
  }
  // A token's rows would fault one small page after another, which takes longer than to write them.
  const std::shared_ptr<std::byte> held =
      rows.device().is_cpu() && LargePages::are_offered() ? pages_.take(static_cast<std::size_t>(bytes)) : nullptr;
  return held == nullptr ? at::empty(sizes, rows.options())
                         : at::from_blob(
                               held.get(), sizes, [held](void*) {}, rows.options());
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
  const std::size_t place = RowStore::place(slot);
  const bool fits = place < store_->buffers_.size() && is_of(store_->buffers_[place], after, store_->capacity_, axis);
  at::Tensor buffer;
  if (fits) {
    buffer = store_->buffers_[place];
  } else {
    buffer = store_->new_buffer(after, axis);
  }
  const std::int64_t same = fits ? same_ : 0;
  if (same < count_) {
    buffer.narrow(axis, same, count_ - same).copy_(before.narrow(axis, same, count_ - same));
  }
  copy_rows(after, buffer, count_, length_ - count_, axis);
  if (joined_.size() <= place) {
    joined_.resize(std::max(place + 1, store_->buffers_.size()));
  }
  joined_[place] = buffer;
  return first_rows(buffer, length_, axis);
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
