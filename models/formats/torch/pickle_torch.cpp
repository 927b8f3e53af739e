#include "models/formats/torch/pickle_torch.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/shown.h"
#include "core/base/words.h"
#include "models/formats/tensor_table.h"

namespace locus::formats {

namespace {

using Kind = PickleValue::Kind;

constexpr std::size_t kInertLimit = 64;
constexpr std::size_t kCopyLimit = 1'000'000;

constexpr WordTable<DType, 10> kStorages{{
    {"torch FloatStorage", DType::kF32},
    {"torch DoubleStorage", DType::kF64},
    {"torch HalfStorage", DType::kF16},
    {"torch BFloat16Storage", DType::kBF16},
    {"torch LongStorage", DType::kI64},
    {"torch IntStorage", DType::kI32},
    {"torch ShortStorage", DType::kI16},
    {"torch CharStorage", DType::kI8},
    {"torch ByteStorage", DType::kU8},
    {"torch BoolStorage", DType::kBool},
}};

constexpr WordTable<DType, 16> kDtypes{{
    {"torch float32", DType::kF32},
    {"torch float", DType::kF32},
    {"torch float64", DType::kF64},
    {"torch double", DType::kF64},
    {"torch float16", DType::kF16},
    {"torch half", DType::kF16},
    {"torch bfloat16", DType::kBF16},
    {"torch int64", DType::kI64},
    {"torch long", DType::kI64},
    {"torch int32", DType::kI32},
    {"torch int", DType::kI32},
    {"torch int16", DType::kI16},
    {"torch short", DType::kI16},
    {"torch int8", DType::kI8},
    {"torch uint8", DType::kU8},
    {"torch bool", DType::kBool},
}};

constexpr std::array<std::string_view, 9> kCalls{"collections OrderedDict",
                                                 "torch._utils _rebuild_tensor",
                                                 "torch._utils _rebuild_tensor_v2",
                                                 "torch._utils _rebuild_tensor_v3",
                                                 "torch._utils _rebuild_parameter",
                                                 "torch._utils _rebuild_parameter_with_state",
                                                 "torch Size",
                                                 "torch device",
                                                 "torch.storage UntypedStorage"};

bool is_untyped(std::string_view text) {
  return text == "torch.storage UntypedStorage" || text == "torch UntypedStorage";
}

PickleValue make(Kind kind, std::int64_t integer) {
  return {.kind = kind, .integer = integer};
}

std::string dotted(std::string_view text) {
  std::string name(text);
  std::replace(name.begin(), name.end(), ' ', '.');
  return shown(name, 80);
}

}  // namespace

PickleValue TorchNames::name(std::string_view text) {
  if (const auto dtype = find_word(kDtypes, text)) {
    return make(Kind::kDtype, static_cast<std::int64_t>(*dtype));
  }
  if (std::find(kCalls.begin(), kCalls.end(), text) != kCalls.end() || is_untyped(text) || find_word(kStorages, text)) {
    return {.kind = Kind::kGlobal, .text = text};
  }
  const std::string name = dotted(text);
  if (pickle_.inert.size() < kInertLimit &&
      std::find(pickle_.inert.begin(), pickle_.inert.end(), name) == pickle_.inert.end()) {
    pickle_.inert.push_back(name);
  }
  return {.kind = Kind::kInert, .text = text};
}

PickleId TorchNames::add(PickleValue value) {
  pickle_.values.push_back(std::move(value));
  return static_cast<PickleId>(pickle_.values.size() - 1);
}

Result<PickleId> TorchNames::call(PickleId callable, PickleId arguments) {
  const PickleValue& called = at(callable);
  if (called.kind != Kind::kGlobal && called.kind != Kind::kInert) {
    return bad_input("expected a name to call, found something else");
  }
  if (at(arguments).kind != Kind::kTuple) {
    return bad_input("expected a tuple of arguments, found something else");
  }
  if (called.kind == Kind::kInert) {
    return add({.kind = Kind::kInert, .items = {callable, arguments}});
  }
  const std::vector<PickleId>& items = at(arguments).items;
  const std::string_view text = called.text;
  if (text == "collections OrderedDict") {
    LOCUS_TRY(PickleValue made, dict(items));
    return add(std::move(made));
  }
  if (text.starts_with("torch._utils _rebuild_tensor")) {
    LOCUS_TRY(PickleValue made, tensor(items, text.ends_with("_v3")));
    return add(std::move(made));
  }
  if (items.empty()) {
    return bad_input(dotted(text) + ": expected arguments, found none");
  }
  if (text.starts_with("torch._utils _rebuild_parameter")) {
    if (at(items[0]).kind != Kind::kTensor) {
      return bad_input(dotted(text) + ": expected a tensor, found something else");
    }
    return items[0];
  }
  if (text == "torch Size" || text == "torch device") {
    return items[0];
  }
  return bad_input(dotted(text) + ": expected no call of a storage, found one");
}

Result<PickleValue> TorchNames::dict(const std::vector<PickleId>& arguments) {
  PickleValue value;
  value.kind = Kind::kDict;
  if (arguments.empty()) {
    return value;
  }
  const auto pair = [&](PickleId id) {
    return (at(id).kind == Kind::kList || at(id).kind == Kind::kTuple) && at(id).items.size() == 2;
  };
  const PickleValue& list = at(arguments[0]);
  if (list.kind != Kind::kList || !std::all_of(list.items.begin(), list.items.end(), pair)) {
    return bad_input("collections.OrderedDict: expected a list of pairs, found something else");
  }
  copied_ += list.items.size();  // the same list may be used repeatedly
  if (copied_ > kCopyLimit) {
    return bad_input("collections.OrderedDict: more than " + std::to_string(kCopyLimit) + " pairs");
  }
  for (const PickleId id : list.items) {
    value.items.insert(value.items.end(), at(id).items.begin(), at(id).items.end());
  }
  return value;
}

Result<std::vector<std::int64_t>> TorchNames::sizes(PickleId id, const char* what) const {
  const PickleValue& tuple = at(id);
  if (tuple.kind != Kind::kTuple || tuple.items.size() > kRankLimit) {
    return bad_input(std::string(what) + ": expected a tuple of at most " + std::to_string(kRankLimit) +
                     " numbers, found something else");
  }
  std::vector<std::int64_t> numbers;
  for (const PickleId item : tuple.items) {
    if (at(item).kind != Kind::kInteger || at(item).integer < 0) {
      return bad_input(std::string(what) + ": expected whole numbers from 0, found " +
                       (at(item).kind == Kind::kInteger ? std::to_string(at(item).integer) : "something else"));
    }
    numbers.push_back(at(item).integer);
  }
  return numbers;
}

// _rebuild_tensor(storage, offset, size, stride[, requires_grad, hooks[, dtype of v3, metadata]])
Result<PickleValue> TorchNames::tensor(const std::vector<PickleId>& arguments, bool typed) {
  if (arguments.size() < (typed ? 7U : 4U) || at(arguments[0]).kind != Kind::kStorage ||
      at(arguments[1]).kind != Kind::kInteger) {
    return bad_input("a tensor: expected storage, offset, size and stride, found something else");
  }
  PickleTensor tensor;
  tensor.storage = static_cast<std::size_t>(at(arguments[0]).integer);
  tensor.offset = at(arguments[1]).integer;
  if (tensor.offset < 0) {
    return bad_input("a tensor's offset: expected at least 0, found " + std::to_string(tensor.offset));
  }
  LOCUS_TRY(tensor.shape, sizes(arguments[2], "a tensor's size"));
  LOCUS_TRY(tensor.strides, sizes(arguments[3], "a tensor's stride"));
  if (tensor.shape.size() != tensor.strides.size()) {
    return bad_input("a tensor: expected as many strides as sizes, found " + std::to_string(tensor.strides.size()) +
                     " and " + std::to_string(tensor.shape.size()));
  }
  const std::optional<DType> stored = pickle_.storages[tensor.storage].dtype;
  if (typed && at(arguments[6]).kind == Kind::kDtype) {
    tensor.dtype = static_cast<DType>(at(arguments[6]).integer);
  } else if (!typed && stored) {
    tensor.dtype = *stored;
  } else {
    return unsupported("a tensor: expected a dtype of float, integer or bool, found another");
  }
  if (stored && *stored != tensor.dtype) {
    return bad_input("a tensor: expected the dtype of its storage, " + std::string(to_text(*stored)) + ", found " +
                     std::string(to_text(tensor.dtype)));
  }
  if (pickle_.tensors.size() == kTensorLimit) {
    return too_large("expected at most " + std::to_string(kTensorLimit) + " tensors, found more");
  }
  pickle_.tensors.push_back(std::move(tensor));
  return make(Kind::kTensor, static_cast<std::int64_t>(pickle_.tensors.size() - 1));
}

Result<PickleValue> TorchNames::storage(PickleId id) {
  const std::vector<PickleId>& items = at(id).items;
  if (at(id).kind != Kind::kTuple || items.size() < 5 || at(items[0]).text != "storage" ||
      at(items[2]).kind != Kind::kText || at(items[4]).kind != Kind::kInteger || at(items[4]).integer < 0) {
    return bad_input("expected a reference (\"storage\", type, key, place, count), found something else");
  }
  const std::string_view type = at(items[1]).text;
  if (at(items[1]).kind != Kind::kGlobal || (!find_word(kStorages, type) && !is_untyped(type))) {
    return unsupported("a storage: expected float, integer or bool, found " + dotted(type));
  }
  if (items.size() > 5 && at(items[5]).kind != Kind::kNone) {
    return unsupported("a storage that is part of another one, as torch before 0.4 wrote them");
  }
  const PickleStorage storage{at(items[2]).text, find_word(kStorages, type), at(items[4]).integer};
  const auto [known, added] = storages_.emplace(storage.key, pickle_.storages.size());
  if (added) {
    pickle_.storages.push_back(storage);
  } else if (pickle_.storages[known->second].dtype != storage.dtype ||
             pickle_.storages[known->second].count != storage.count) {
    return bad_input("storage " + shown(storage.key, 40) + ": expected one dtype and count, found two");
  }
  return make(Kind::kStorage, static_cast<std::int64_t>(known->second));
}

}  // namespace locus::formats
