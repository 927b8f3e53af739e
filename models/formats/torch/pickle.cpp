#include "models/formats/torch/pickle.h"

#include <bit>
#include <cstring>
#include <utility>

#include "models/formats/torch/pickle_cursor.h"
#include "models/formats/torch/pickle_opcodes.h"
#include "models/formats/torch/pickle_stack.h"
#include "models/formats/torch/pickle_torch.h"

namespace locus::formats {

namespace {

using Kind = PickleValue::Kind;

constexpr std::size_t kNameLimit = 200;  // length of the names of a module and a function; longer ones are unknown

// The effect of each opcode on the stack.
class Machine {
 public:
  explicit Machine(std::span<const std::byte> bytes)
      : bytes_({reinterpret_cast<const char*>(bytes.data()), bytes.size()}), names_(pickle_), stack_(pickle_) {}

  Result<Pickle> run() {
    for (;;) {
      const std::size_t start = bytes_.at();
      if (bytes_.done()) {
        return bad_input("expected a pickle's end, found the end of the file");
      }
      LOCUS_TRY(const auto op, bytes_.number<std::uint8_t>());
      if (op == kStop) {
        break;
      }
      if (const Status status = step(op); !status.ok()) {
        Error error = status.error();
        error.message = "pickle at byte " + std::to_string(start) + ": " + error.message;
        return error;
      }
    }
    LOCUS_TRY(pickle_.root, stack_.pop());
    pickle_.size = bytes_.at();
    return std::move(pickle_);
  }

 private:
  Status step(std::uint8_t op);
  Status step_container(std::uint8_t op);
  Status step_object(std::uint8_t op);

  template <class T>
  Status push_number() {
    LOCUS_TRY(const T value, bytes_.number<T>());
    return stack_.push(Kind::kInteger, value);
  }

  template <class T>
  Status with_key(Status (PickleStack::*use)(std::size_t)) {
    LOCUS_TRY(const T key, bytes_.number<T>());
    return (stack_.*use)(key);
  }

  Status integer(const Result<std::string_view>& read) {
    LOCUS_TRY(const std::string_view bytes, read);
    if (bytes.size() > 8) {
      return stack_.push_text(Kind::kOpaque, bytes);
    }
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data(), bytes.size());
    if (!bytes.empty() && (static_cast<std::uint8_t>(bytes.back()) & 0x80U) != 0 && bytes.size() < 8) {
      value |= ~0ULL << (8 * bytes.size());
    }
    return stack_.push(Kind::kInteger, static_cast<std::int64_t>(value));
  }

  // "MODULE NAME", stored once each, so that views of it stay valid.
  std::string_view store(std::string_view module, std::string_view name) {
    return *pickle_.names
                .insert(std::string(module.substr(0, kNameLimit)) + ' ' + std::string(name.substr(0, kNameLimit)))
                .first;
  }
  Status named(std::string_view text) { return stack_.push(names_.name(text)); }
  Status call(PickleId callable, PickleId arguments) {
    LOCUS_CHECK(stack_.room());
    LOCUS_TRY(const PickleId made, names_.call(callable, arguments));
    return stack_.push(made);
  }
  Status build() {
    LOCUS_TRY(const PickleId state, stack_.pop());
    LOCUS_TRY(const PickleId id, stack_.top());
    PickleValue& object = pickle_.values[id];
    if (object.kind == Kind::kInert && object.items.size() >= 2) {
      object.items.resize(2);
      object.items.push_back(state);
    }
    return {};  // the state of a dict (a state dict's _metadata) or tensor has no content
  }

  PickleCursor bytes_;
  Pickle pickle_;
  TorchNames names_;
  PickleStack stack_;
};

Status Machine::step(std::uint8_t op) {
  switch (op) {
    case kProto: {
      LOCUS_TRY(const std::uint8_t protocol, bytes_.number<std::uint8_t>());
      return protocol >= 2 && protocol <= 5 ? Status()
                                            : bad_input("expected protocol 2 to 5, found " + std::to_string(protocol));
    }
    case kFrame:
      // A frame is only a hint how much to read ahead.
      if (const auto length = bytes_.number<std::uint64_t>(); !length.ok()) {
        return length.error();
      }
      return {};
    case kNone:
      return stack_.push(Kind::kNone);
    case kTrue:
    case kFalse:
      return stack_.push(Kind::kBool, op == kTrue ? 1 : 0);
    case kBinInt:
      return push_number<std::int32_t>();
    case kBinInt1:
      return push_number<std::uint8_t>();
    case kBinInt2:
      return push_number<std::uint16_t>();
    case kLong1:
      return integer(bytes_.counted<std::uint8_t>());
    case kLong4:
      return integer(bytes_.counted<std::uint32_t>());
    case kBinFloat: {
      LOCUS_TRY(const std::uint64_t bits, bytes_.number<std::uint64_t>());
      // Pickle writes floats big endian.
      return stack_.push({.kind = Kind::kNumber, .number = std::bit_cast<double>(__builtin_bswap64(bits))});
    }
    case kBinUnicode:
    case kBinString:
      return stack_.push_text(Kind::kText, bytes_.counted<std::uint32_t>());
    case kShortBinUnicode:
    case kShortBinString:
      return stack_.push_text(Kind::kText, bytes_.counted<std::uint8_t>());
    case kBinUnicode8:
      return stack_.push_text(Kind::kText, bytes_.counted<std::uint64_t>());
    case kBinBytes:
      return stack_.push_text(Kind::kBytes, bytes_.counted<std::uint32_t>());
    case kShortBinBytes:
      return stack_.push_text(Kind::kBytes, bytes_.counted<std::uint8_t>());
    case kBinBytes8:
    case kByteArray8:
      return stack_.push_text(Kind::kBytes, bytes_.counted<std::uint64_t>());
    case kMark:
      return stack_.mark();
    case kPop:
      return stack_.drop();
    case kPopMark:
      if (const auto items = stack_.pop_mark(); !items.ok()) {
        return items.error();
      }
      return {};
    case kDup: {
      LOCUS_TRY(const PickleId id, stack_.top());
      return stack_.push(id);
    }
    default:
      return step_container(op);
  }
}

Status Machine::step_container(std::uint8_t op) {
  switch (op) {
    case kEmptyTuple:
      return stack_.push(Kind::kTuple);
    case kTuple1:
    case kTuple2:
    case kTuple3:
      return stack_.tuple(static_cast<std::size_t>(op - kTuple1) + 1);
    case kTupleOfMark:
      return stack_.container_of_mark(Kind::kTuple);
    case kListOfMark:
      return stack_.container_of_mark(Kind::kList);
    case kDictOfMark:
      return stack_.container_of_mark(Kind::kDict);
    case kFrozenSet:
      return stack_.container_of_mark(Kind::kSet);
    case kEmptyList:
      return stack_.push(Kind::kList);
    case kEmptyDict:
      return stack_.push(Kind::kDict);
    case kEmptySet:
      return stack_.push(Kind::kSet);
    case kAppend: {
      LOCUS_TRY(const PickleId item, stack_.pop());
      return stack_.extend(Kind::kList, {item});
    }
    case kSetItem: {
      LOCUS_TRY(const PickleId item, stack_.pop());
      LOCUS_TRY(const PickleId name, stack_.pop());
      return stack_.extend(Kind::kDict, {name, item});
    }
    case kAppends:
    case kSetItems:
    case kAddItems: {
      LOCUS_TRY(const std::vector<PickleId> items, stack_.pop_mark());
      return stack_.extend(op == kAppends ? Kind::kList : op == kSetItems ? Kind::kDict : Kind::kSet, items);
    }
    default:
      return step_object(op);
  }
}

Status Machine::step_object(std::uint8_t op) {
  switch (op) {
    case kBinPut:
      return with_key<std::uint8_t>(&PickleStack::put);
    case kLongBinPut:
      return with_key<std::uint32_t>(&PickleStack::put);
    case kMemoize:
      return stack_.memoize();
    case kBinGet:
      return with_key<std::uint8_t>(&PickleStack::get);
    case kLongBinGet:
      return with_key<std::uint32_t>(&PickleStack::get);
    case kGlobalName: {
      LOCUS_TRY(const std::string_view module, bytes_.line());
      LOCUS_TRY(const std::string_view name, bytes_.line());
      return named(store(module, name));
    }
    case kStackGlobal: {
      LOCUS_TRY(const PickleId name, stack_.pop());
      LOCUS_TRY(const PickleId module, stack_.pop());
      if (pickle_.at(name).kind != Kind::kText || pickle_.at(module).kind != Kind::kText) {
        return bad_input("expected the two texts of a name, found something else");
      }
      return named(store(pickle_.at(module).text, pickle_.at(name).text));
    }
    case kReduce:
    case kNewObject: {
      LOCUS_TRY(const PickleId arguments, stack_.pop());
      LOCUS_TRY(const PickleId callable, stack_.pop());
      return call(callable, arguments);
    }
    case kNewObjectEx: {
      LOCUS_TRY(const PickleId named_arguments, stack_.pop());
      LOCUS_TRY(const PickleId arguments, stack_.pop());
      LOCUS_TRY(const PickleId callable, stack_.pop());
      if (pickle_.at(named_arguments).kind != Kind::kDict) {
        return bad_input("expected a dict of arguments, found something else");
      }
      return call(callable, arguments);
    }
    case kBuild:
      return build();
    case kBinPersid: {
      LOCUS_TRY(const PickleId id, stack_.pop());
      LOCUS_TRY(PickleValue storage, names_.storage(id));
      return stack_.push(std::move(storage));
    }
    default:
      return bad_input("expected an opcode of protocols 2 to 5, found " + std::to_string(op));
  }
}

}  // namespace

Result<Pickle> read_pickle(std::span<const std::byte> bytes) {
  return Machine(bytes).run();
}

}  // namespace locus::formats
