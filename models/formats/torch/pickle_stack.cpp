#include "models/formats/torch/pickle_stack.h"

#include <string>
#include <utility>

namespace locus::formats {

namespace {

using Kind = PickleValue::Kind;

constexpr std::size_t kValueLimit = 2'000'000;
constexpr std::size_t kMarkLimit = 1000;

}  // namespace

Status PickleStack::push(PickleId id) {
  // The number of values is limited; reading one from the memo creates none.
  if (stack_.size() >= kValueLimit) {
    return bad_input("more than " + std::to_string(kValueLimit) + " values on the stack");
  }
  stack_.push_back(id);
  return {};
}

Status PickleStack::push(PickleValue value) {
  LOCUS_CHECK(room());
  pickle_.values.push_back(std::move(value));
  return push(static_cast<PickleId>(pickle_.values.size() - 1));
}

Status PickleStack::push(Kind kind, std::int64_t integer) {
  return push({.kind = kind, .integer = integer});
}

Status PickleStack::push_text(Kind kind, const Result<std::string_view>& text) {
  return text.ok() ? push({.kind = kind, .text = *text}) : Status(text.error());
}

Status PickleStack::room() const {
  return pickle_.values.size() < kValueLimit ? Status()
                                             : bad_input("more than " + std::to_string(kValueLimit) + " values");
}

Result<PickleId> PickleStack::pop() {
  LOCUS_TRY(const PickleId id, top());
  stack_.pop_back();
  return id;
}

Result<PickleId> PickleStack::top() const {
  return stack_.size() > floor() ? Result<PickleId>(stack_.back())
                                 : bad_input("expected a value on the stack, found none");
}

Status PickleStack::mark() {
  if (marks_.size() == kMarkLimit) {
    return bad_input("nested deeper than " + std::to_string(kMarkLimit) + " marks");
  }
  marks_.push_back(stack_.size());
  return {};
}

Result<std::vector<PickleId>> PickleStack::pop_mark() {
  if (marks_.empty()) {
    return bad_input("expected a mark on the stack, found none");
  }
  const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  std::vector<PickleId> items(first, stack_.end());
  stack_.erase(first, stack_.end());
  marks_.pop_back();
  return items;
}

Status PickleStack::drop() {
  if (!marks_.empty() && marks_.back() == stack_.size()) {
    marks_.pop_back();
    return {};
  }
  const Result<PickleId> popped = pop();
  return popped.ok() ? Status() : Status(popped.error());
}

Status PickleStack::tuple(std::size_t count) {
  std::vector<PickleId> items(count);
  for (std::size_t n = count; n-- > 0;) {
    LOCUS_TRY(items[n], pop());
  }
  return push({.kind = Kind::kTuple, .items = std::move(items)});
}

Status PickleStack::container_of_mark(Kind kind) {
  LOCUS_TRY(std::vector<PickleId> items, pop_mark());
  if (kind == Kind::kDict && items.size() % 2 != 0) {
    return bad_input("expected names and values in pairs");
  }
  return push({.kind = kind, .items = std::move(items)});
}

Status PickleStack::extend(Kind kind, const std::vector<PickleId>& items) {
  LOCUS_TRY(const PickleId id, top());
  PickleValue& container = pickle_.values[id];
  if (container.kind == Kind::kInert) {
    return {};
  }
  if (container.kind != kind || (kind == Kind::kDict && items.size() % 2 != 0)) {
    return bad_input("expected a container for these values, found something else");
  }
  container.items.insert(container.items.end(), items.begin(), items.end());
  return {};
}

Status PickleStack::put(std::size_t key) {
  LOCUS_TRY(const PickleId id, top());
  if (key >= kValueLimit) {
    return bad_input("expected a memo index below " + std::to_string(kValueLimit) + ", found " + std::to_string(key));
  }
  memo_[static_cast<PickleId>(key)] = id;
  return {};
}

Status PickleStack::get(std::size_t key) {
  const auto found = key < kValueLimit ? memo_.find(static_cast<PickleId>(key)) : memo_.end();
  if (found == memo_.end()) {
    return bad_input("expected a value in the memo at " + std::to_string(key) + ", found none");
  }
  return push(found->second);
}

}  // namespace locus::formats
