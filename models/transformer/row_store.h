// RowStore: the tensors, a row per token, of runs that continue each other, so that one token more does not copy those
// before it.
//
// A run's tensors are views of the first T rows of buffers that have room for more. A run that takes over `count` rows
// of an earlier one writes its own
//   behind them, where nothing was written yet (a token is appended); or
//   into the buffers of the run before that one, once nobody holds their views: only rows that differ are copied (the
//     last token is replaced, as typing does to most words); or
//   into new buffers, to which all of them are copied.
// Rows that a view shows are never written, so earlier runs stay what they were. Used by one thread at a time; views
// may be read by others meanwhile.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace locus::transformer {

class RowStore {
 public:
  using Slot = std::pair<std::int64_t, int>;  // layer, tensor of the layer

  // Bytes of the buffers.
  std::size_t bytes() const;

 private:
  friend class ContinuedRows;

  bool is_free() const;  // nobody holds a view

  std::map<Slot, at::Tensor> buffers_;  // one length along the tokens
  std::int64_t capacity_ = 0;
  std::vector<std::uint64_t> stamps_;  // of the rows written: where they are equal, so are the rows, in all stores of
                                       // runs that continue each other
  std::shared_ptr<std::uint64_t> last_stamp_;
  std::shared_ptr<RowStore> spare_;  // of the run before
};

// One run's way of taking over rows.
class ContinuedRows {
 public:
  // `count` of the `length` rows are those that the run of `past` has; null where its tensors are in no store.
  ContinuedRows(std::shared_ptr<RowStore> past, std::int64_t count, std::int64_t length);

  // `before`'s first `count` rows and `after`, along `axis`; undefined where either is. Each slot once a run.
  at::Tensor join(RowStore::Slot slot, const at::Tensor& before, const at::Tensor& after, std::int64_t axis);
  // Rows of `count` that join() copies; for tests.
  std::int64_t copied() const { return count_ - same_; }
  // All slots are joined: what the run hands on. A run that ends without it leaves nothing wrong behind.
  std::shared_ptr<RowStore> finish();

 private:
  std::shared_ptr<RowStore> past_;
  std::shared_ptr<RowStore> store_;
  std::int64_t count_;
  std::int64_t length_;
  std::int64_t same_ = 0;  // rows that the store has already
  std::map<RowStore::Slot, at::Tensor> joined_;
};

}  // namespace locus::transformer
