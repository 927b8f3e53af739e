// PickleStack: the values, marks and memo of a pickle machine, within limits on all of them.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "models/formats/torch/pickle.h"

namespace locus::formats {

// Errors of every function, without a file name: kBadInput for a missing value, mark or memo entry, and beyond the
// limits of read_pickle.
class PickleStack {
 public:
  // New values go into `pickle`, which must outlive the stack.
  explicit PickleStack(Pickle& pickle) : pickle_(pickle) {}

  Status push(PickleId id);
  Status push(PickleValue value);
  Status push(PickleValue::Kind kind, std::int64_t integer = 0);
  Status push_text(PickleValue::Kind kind, const Result<std::string_view>& text);
  // True while another value is allowed.
  Status room() const;
  Result<PickleId> pop();
  Result<PickleId> top() const;

  Status mark();
  // Removes and returns the values above the last mark, and the mark.
  Result<std::vector<PickleId>> pop_mark();
  // The top value, or the mark where there is none above it.
  Status drop();

  // Replaces the last `count` values by a tuple.
  Status tuple(std::size_t count);
  // Replaces the values above the last mark by a container.
  Status container_of_mark(PickleValue::Kind kind);
  // Adds `items` to the container on top. An inert object ignores them.
  Status extend(PickleValue::Kind kind, const std::vector<PickleId>& items);

  // Stores the top value in the memo under this number, or the next free one.
  Status put(std::size_t key);
  Status memoize() { return put(memo_.size()); }
  // Pushes the value stored under this number.
  Status get(std::size_t key);

 private:
  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }

  Pickle& pickle_;
  std::vector<PickleId> stack_;
  std::vector<std::size_t> marks_;  // stack heights of the marks
  std::unordered_map<PickleId, PickleId> memo_;
};

}  // namespace locus::formats
