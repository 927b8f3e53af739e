#include "models/checkpoint/pickle.h"

#include <bit>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "models/checkpoint/pickle_torch.h"
#include "models/checkpoint/shown.h"

namespace locus::checkpoint {

namespace {

using Kind = PickleValue::Kind;

constexpr std::size_t kValueLimit = 2'000'000;
constexpr std::size_t kMarkLimit = 1000;
constexpr std::size_t kNameLimit = 200;  // of a module and of a name; longer ones are none of ours

// The opcodes of Python's pickletools that protocols 2 to 5 use.
enum Op : std::uint8_t {
  kMark = '(',
  kStop = '.',
  kPop = '0',
  kPopMark = '1',
  kDup = '2',
  kBinBytes = 'B',
  kShortBinBytes = 'C',
  kBinFloat = 'G',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kBinPersid = 'Q',
  kReduce = 'R',
  kBinString = 'T',
  kShortBinString = 'U',
  kBinUnicode = 'X',
  kEmptyList = ']',
  kAppend = 'a',
  kBuild = 'b',
  kGlobalName = 'c',
  kDictOfMark = 'd',
  kAppends = 'e',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kListOfMark = 'l',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTupleOfMark = 't',
  kSetItems = 'u',
  kEmptyDict = '}',
  kEmptyTuple = ')',
  kProto = 0x80,
  kNewObject = 0x81,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kTrue = 0x88,
  kFalse = 0x89,
  kLong1 = 0x8A,
  kLong4 = 0x8B,
  kShortBinUnicode = 0x8C,
  kBinUnicode8 = 0x8D,
  kBinBytes8 = 0x8E,
  kEmptySet = 0x8F,
  kAddItems = 0x90,
  kFrozenSet = 0x91,
  kNewObjectEx = 0x92,
  kStackGlobal = 0x93,
  kMemoize = 0x94,
  kFrame = 0x95,
  kByteArray8 = 0x96,
};

class Machine {
 public:
  explicit Machine(std::span<const std::byte> bytes)
      : text_(reinterpret_cast<const char*>(bytes.data()), bytes.size()), names_(pickle_) {}

  Result<Pickle> run() {
    for (;;) {
      const std::size_t start = at_;
      if (at_ == text_.size()) {
        return bad_input("expected a pickle's end, found the end of the file");
      }
      const auto op = static_cast<std::uint8_t>(text_[at_++]);
      if (op == kStop) {
        break;
      }
      if (const Status status = step(op); !status.ok()) {
        Error error = status.error();
        error.message = "pickle at byte " + std::to_string(start) + ": " + error.message;
        return error;
      }
    }
    LOCUS_TRY(pickle_.root, pop());
    pickle_.size = at_;
    return std::move(pickle_);
  }

 private:
  // ---- the bytes

  Result<std::string_view> take(std::uint64_t count) {
    if (count > text_.size() - at_) {
      return bad_input("expected " + std::to_string(count) + " more bytes, found " +
                       std::to_string(text_.size() - at_));
    }
    const std::string_view part = text_.substr(at_, static_cast<std::size_t>(count));
    at_ += part.size();
    return part;
  }

  template <class T>
  Result<T> number() {
    LOCUS_TRY(const std::string_view part, take(sizeof(T)));
    T value;
    std::memcpy(&value, part.data(), sizeof(T));
    return value;
  }

  Result<std::string_view> line() {
    const std::size_t end = text_.find('\n', at_);
    if (end == std::string_view::npos) {
      return bad_input("expected a line, found the end of the file");
    }
    const std::string_view part = text_.substr(at_, end - at_);
    at_ = end + 1;
    return part;
  }

  // Bytes whose length stands before them as a T.
  template <class T>
  Result<std::string_view> counted() {
    LOCUS_TRY(const T count, number<T>());
    return take(count);
  }

  // ---- the stack

  Status push(PickleId id) {
    // Values are limited, but getting one from the memo again makes none.
    if (stack_.size() >= kValueLimit) {
      return bad_input("more than " + std::to_string(kValueLimit) + " values on the stack");
    }
    stack_.push_back(id);
    return {};
  }
  Status push(PickleValue value) {
    LOCUS_CHECK(room());
    pickle_.values.push_back(std::move(value));
    return push(static_cast<PickleId>(pickle_.values.size() - 1));
  }
  Status push(Kind kind, std::int64_t integer = 0) {
    PickleValue value;
    value.kind = kind;
    value.integer = integer;
    return push(std::move(value));
  }
  Status push_text(Kind kind, const Result<std::string_view>& text) {
    if (!text.ok()) {
      return text.error();
    }
    PickleValue value;
    value.kind = kind;
    value.text = *text;
    return push(std::move(value));
  }
  Status room() const {
    return pickle_.values.size() < kValueLimit ? Status()
                                               : bad_input("more than " + std::to_string(kValueLimit) + " values");
  }

  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }

  Result<PickleId> pop() {
    if (stack_.size() <= floor()) {
      return bad_input("expected a value on the stack, found none");
    }
    const PickleId id = stack_.back();
    stack_.pop_back();
    return id;
  }
  Result<PickleId> top() const {
    return stack_.size() > floor() ? Result<PickleId>(stack_.back())
                                   : bad_input("expected a value on the stack, found none");
  }
  // The values above the last mark.
  Result<std::vector<PickleId>> pop_mark() {
    if (marks_.empty()) {
      return bad_input("expected a mark on the stack, found none");
    }
    const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<PickleId> items(first, stack_.end());
    stack_.erase(first, stack_.end());
    marks_.pop_back();
    return items;
  }

  // ---- the steps

  Status step(std::uint8_t op);
  Status step_container(std::uint8_t op);
  Status step_object(std::uint8_t op);

  Status push_items(Kind kind, std::vector<PickleId> items) {
    PickleValue value;
    value.kind = kind;
    value.items = std::move(items);
    return push(std::move(value));
  }
  Status tuple(std::size_t count) {
    std::vector<PickleId> items(count);
    for (std::size_t n = count; n-- > 0;) {
      LOCUS_TRY(items[n], pop());
    }
    return push_items(Kind::kTuple, std::move(items));
  }
  Status tuple_of_mark(Kind kind) {
    LOCUS_TRY(std::vector<PickleId> items, pop_mark());
    if (kind == Kind::kDict && items.size() % 2 != 0) {
      return bad_input("expected names and values in pairs");
    }
    return push_items(kind, std::move(items));
  }

  // Adds `items` to the container on top. An inert object takes and forgets them.
  Status extend(Kind kind, const std::vector<PickleId>& items) {
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

  Status integer(std::string_view bytes) {
    if (bytes.size() > 8) {
      return push_text(Kind::kOpaque, bytes);
    }
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data(), bytes.size());
    if (!bytes.empty() && (static_cast<std::uint8_t>(bytes.back()) & 0x80U) != 0 && bytes.size() < 8) {
      value |= ~0ULL << (8 * bytes.size());
    }
    return push(Kind::kInteger, static_cast<std::int64_t>(value));
  }

  Status put(std::size_t key) {
    LOCUS_TRY(const PickleId id, top());
    if (key >= kValueLimit) {
      return bad_input("expected a memo index below " + std::to_string(kValueLimit) + ", found " + std::to_string(key));
    }
    memo_[static_cast<PickleId>(key)] = id;
    return {};
  }
  Status get(std::size_t key) {
    const auto found = key < kValueLimit ? memo_.find(static_cast<PickleId>(key)) : memo_.end();
    if (found == memo_.end()) {
      return bad_input("expected a value in the memo at " + std::to_string(key) + ", found none");
    }
    return push(found->second);
  }

  // "MODULE NAME", once each, where views of it stay valid.
  std::string_view store(std::string_view module, std::string_view name) {
    return *pickle_.names
                .insert(std::string(module.substr(0, kNameLimit)) + ' ' + std::string(name.substr(0, kNameLimit)))
                .first;
  }
  Status named(std::string_view text) { return push(names_.name(text)); }
  Status call(PickleId callable, PickleId arguments) {
    LOCUS_CHECK(room());
    LOCUS_TRY(const PickleId made, names_.call(callable, arguments));
    return push(made);
  }
  Status build() {
    LOCUS_TRY(const PickleId state, pop());
    LOCUS_TRY(const PickleId id, top());
    PickleValue& object = pickle_.values[id];
    if (object.kind == Kind::kInert && object.items.size() >= 2) {
      object.items.resize(2);
      object.items.push_back(state);
    }
    return {};  // the state of a dict (a state dict's _metadata) or tensor says nothing about its content
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Pickle pickle_;
  TorchNames names_;
  std::vector<PickleId> stack_;
  std::vector<std::size_t> marks_;  // heights of the stack
  std::unordered_map<PickleId, PickleId> memo_;
};

Status Machine::step(std::uint8_t op) {
  switch (op) {
    case kProto: {
      LOCUS_TRY(const std::uint8_t protocol, number<std::uint8_t>());
      return protocol >= 2 && protocol <= 5 ? Status()
                                            : bad_input("expected protocol 2 to 5, found " + std::to_string(protocol));
    }
    case kFrame:
      // A frame only says how much to read ahead.
      if (const auto length = number<std::uint64_t>(); !length.ok()) {
        return length.error();
      }
      return {};
    case kNone:
      return push(Kind::kNone);
    case kTrue:
    case kFalse:
      return push(Kind::kBool, op == kTrue ? 1 : 0);
    case kBinInt: {
      LOCUS_TRY(const std::int32_t value, number<std::int32_t>());
      return push(Kind::kInteger, value);
    }
    case kBinInt1: {
      LOCUS_TRY(const std::uint8_t value, number<std::uint8_t>());
      return push(Kind::kInteger, value);
    }
    case kBinInt2: {
      LOCUS_TRY(const std::uint16_t value, number<std::uint16_t>());
      return push(Kind::kInteger, value);
    }
    case kLong1: {
      LOCUS_TRY(const std::string_view bytes, counted<std::uint8_t>());
      return integer(bytes);
    }
    case kLong4: {
      LOCUS_TRY(const std::string_view bytes, counted<std::uint32_t>());
      return integer(bytes);
    }
    case kBinFloat: {
      LOCUS_TRY(const std::uint64_t bits, number<std::uint64_t>());
      PickleValue value;
      value.kind = Kind::kNumber;
      value.number = std::bit_cast<double>(__builtin_bswap64(bits));  // pickle writes floats big endian
      return push(std::move(value));
    }
    case kBinUnicode:
    case kBinString:
      return push_text(Kind::kText, counted<std::uint32_t>());
    case kShortBinUnicode:
    case kShortBinString:
      return push_text(Kind::kText, counted<std::uint8_t>());
    case kBinUnicode8:
      return push_text(Kind::kText, counted<std::uint64_t>());
    case kBinBytes:
      return push_text(Kind::kBytes, counted<std::uint32_t>());
    case kShortBinBytes:
      return push_text(Kind::kBytes, counted<std::uint8_t>());
    case kBinBytes8:
    case kByteArray8:
      return push_text(Kind::kBytes, counted<std::uint64_t>());
    case kMark:
      if (marks_.size() == kMarkLimit) {
        return bad_input("nested deeper than " + std::to_string(kMarkLimit) + " marks");
      }
      marks_.push_back(stack_.size());
      return {};
    case kPop:
      if (!marks_.empty() && marks_.back() == stack_.size()) {
        marks_.pop_back();
        return {};
      }
      if (const auto popped = pop(); !popped.ok()) {
        return popped.error();
      }
      return {};
    case kPopMark:
      if (const auto items = pop_mark(); !items.ok()) {
        return items.error();
      }
      return {};
    case kDup: {
      LOCUS_TRY(const PickleId id, top());
      return push(id);
    }
    default:
      return step_container(op);
  }
}

Status Machine::step_container(std::uint8_t op) {
  switch (op) {
    case kEmptyTuple:
      return push(Kind::kTuple);
    case kTuple1:
    case kTuple2:
    case kTuple3:
      return tuple(static_cast<std::size_t>(op - kTuple1) + 1);
    case kTupleOfMark:
      return tuple_of_mark(Kind::kTuple);
    case kListOfMark:
      return tuple_of_mark(Kind::kList);
    case kDictOfMark:
      return tuple_of_mark(Kind::kDict);
    case kFrozenSet:
      return tuple_of_mark(Kind::kSet);
    case kEmptyList:
      return push(Kind::kList);
    case kEmptyDict:
      return push(Kind::kDict);
    case kEmptySet:
      return push(Kind::kSet);
    case kAppend: {
      LOCUS_TRY(const PickleId item, pop());
      return extend(Kind::kList, {item});
    }
    case kSetItem: {
      LOCUS_TRY(const PickleId item, pop());
      LOCUS_TRY(const PickleId name, pop());
      return extend(Kind::kDict, {name, item});
    }
    case kAppends:
    case kSetItems:
    case kAddItems: {
      LOCUS_TRY(const std::vector<PickleId> items, pop_mark());
      return extend(op == kAppends ? Kind::kList : op == kSetItems ? Kind::kDict : Kind::kSet, items);
    }
    default:
      return step_object(op);
  }
}

Status Machine::step_object(std::uint8_t op) {
  switch (op) {
    case kBinPut: {
      LOCUS_TRY(const std::uint8_t key, number<std::uint8_t>());
      return put(key);
    }
    case kLongBinPut: {
      LOCUS_TRY(const std::uint32_t key, number<std::uint32_t>());
      return put(key);
    }
    case kMemoize:
      return put(memo_.size());
    case kBinGet: {
      LOCUS_TRY(const std::uint8_t key, number<std::uint8_t>());
      return get(key);
    }
    case kLongBinGet: {
      LOCUS_TRY(const std::uint32_t key, number<std::uint32_t>());
      return get(key);
    }
    case kGlobalName: {
      LOCUS_TRY(const std::string_view module, line());
      LOCUS_TRY(const std::string_view name, line());
      return named(store(module, name));
    }
    case kStackGlobal: {
      LOCUS_TRY(const PickleId name, pop());
      LOCUS_TRY(const PickleId module, pop());
      if (pickle_.at(name).kind != Kind::kText || pickle_.at(module).kind != Kind::kText) {
        return bad_input("expected the two texts of a name, found something else");
      }
      return named(store(pickle_.at(module).text, pickle_.at(name).text));
    }
    case kReduce:
    case kNewObject: {
      LOCUS_TRY(const PickleId arguments, pop());
      LOCUS_TRY(const PickleId callable, pop());
      return call(callable, arguments);
    }
    case kNewObjectEx: {
      LOCUS_TRY(const PickleId named_arguments, pop());
      LOCUS_TRY(const PickleId arguments, pop());
      LOCUS_TRY(const PickleId callable, pop());
      if (pickle_.at(named_arguments).kind != Kind::kDict) {
        return bad_input("expected a dict of arguments, found something else");
      }
      return call(callable, arguments);
    }
    case kBuild:
      return build();
    case kBinPersid: {
      LOCUS_TRY(const PickleId id, pop());
      LOCUS_TRY(PickleValue storage, names_.storage(id));
      return push(std::move(storage));
    }
    default:
      return bad_input("expected an opcode of protocols 2 to 5, found " + std::to_string(op));
  }
}

}  // namespace

Result<Pickle> read_pickle(std::span<const std::byte> bytes) {
  return Machine(bytes).run();
}

}  // namespace locus::checkpoint
