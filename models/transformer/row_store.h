// RowStore: tensors with a row per token of runs that continue each other, so that one more token does not copy the
// rows before it.
//
// A run's tensors are views of the first T rows of buffers with spare capacity. A run that reuses `count` rows of an
// earlier one writes its own rows
//  after them, where nothing was written yet (a token is appended); or
//  into the buffers of the run before that one, once no view of them exists: only rows that differ are copied (the
//    last token is replaced, as typing does to most words); or
//  into new buffers, to which all of them are copied.
// Rows that a view shows are never written, so earlier runs keep their values. One thread uses a store at a time; other
// threads may read views meanwhile.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/large_pages.h"

namespace locus::transformer {

class RowStore {
 public:
  using Slot = std::pair<std::int64_t, int>;  // layer, tensor of the layer
  static constexpr int kTensors = 16;         // of a layer, at most

  // Size of the buffers in bytes.
  std::size_t bytes() const;

 private:
  friend class ContinuedRows;

  bool is_free() const;  // no view of the buffers exists

  // A buffer like `rows` with room for `capacity_` tokens along `axis`, behind the others in large pages.
  at::Tensor new_buffer(const at::Tensor& rows, std::int64_t axis);

  static std::size_t place(Slot slot) { return static_cast<std::size_t>(slot.first * kTensors + slot.second); }

  // At the slots' places, undefined where there is none; all have room for as many tokens.
  std::vector<at::Tensor> buffers_;
  LargePages pages_;
  std::int64_t capacity_ = 0;
  std::vector<std::uint64_t> stamps_;  // identify the rows written: equal stamps mean equal rows, in all stores of runs
                                       // that continue each other
  std::shared_ptr<std::uint64_t> last_stamp_;
  std::shared_ptr<RowStore> spare_;  // store of the run before
};

// Reuse of rows by one run.
class ContinuedRows {
 public:
  // The run `past` has `count` of the `length` rows; null where its tensors are in no store.
  ContinuedRows(std::shared_ptr<RowStore> past, std::int64_t count, std::int64_t length);

  // The first `count` rows of `before`, then `after`, along `axis`; undefined where either is. Once per slot and run.
  at::Tensor join(RowStore::Slot slot, const at::Tensor& before, const at::Tensor& after, std::int64_t axis);
  // Rows of `count` that join() copies; for tests.
  std::int64_t copied() const { return count_ - same_; }
  // Ends the run after every slot was joined; returns its store. Dropping the object without finish() is safe.
  std::shared_ptr<RowStore> finish();

 private:
  std::shared_ptr<RowStore> past_;
  std::shared_ptr<RowStore> store_;
  std::int64_t count_;
  std::int64_t length_;
  std::int64_t same_ = 0;           // rows that the store already holds
  std::vector<at::Tensor> joined_;  // at the slots' places
};

}  // namespace locus::transformer
