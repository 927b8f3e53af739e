// A restricted pickle machine: reads the output of torch.save (pickle protocols 2–5) and executes nothing.
//
// It understands the few names that tensors need: OrderedDict, torch's rebuild functions, storages, dtypes, Size and
// device. Every other name becomes an inert object that only records its arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "core/base/result.h"
#include "models/formats/tensor_source.h"

namespace locus::formats {

using PickleId = std::uint32_t;  // of a value, in Pickle::values

struct PickleValue {
  enum class Kind {
    kNone,
    kBool,     // integer 0 or 1
    kInteger,  // beyond int64: kOpaque
    kNumber,
    kText,
    kBytes,
    kList,
    kTuple,
    kSet,
    kDict,     // items: name, value, name, value, …
    kGlobal,   // a name of the allow-list; text "MODULE NAME"
    kDtype,    // integer: the DType
    kStorage,  // integer: in Pickle::storages
    kTensor,   // integer: in Pickle::tensors
    kInert,   // any other name (text "MODULE NAME", no items) or what it made (items: the name, the arguments[, state])
    kOpaque,  // a number beyond the supported range
  };
  Kind kind = Kind::kNone;
  std::int64_t integer = 0;
  double number = 0;
  std::string_view text = {};  // offset of a value in the pickle's bytes or in Pickle::names
  std::vector<PickleId> items = {};
};

// Elements that tensors share, by key.
struct PickleStorage {
  std::string_view key;
  std::optional<DType> dtype;  // none: untyped bytes
  std::int64_t count = 0;      // of elements, or bytes
};

struct PickleTensor {
  std::size_t storage = 0;
  DType dtype = DType::kF32;
  std::int64_t offset = 0;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
};

struct Pickle {
  std::vector<PickleValue> values;
  PickleId root = 0;
  std::vector<PickleStorage> storages;    // one per key
  std::vector<PickleTensor> tensors;      // not yet checked against the storages' bytes
  std::unordered_set<std::string> names;  // "MODULE NAME", what the values' texts may point into
  std::vector<std::string> inert;         // "module.name" of each name that is not understood, once
  std::size_t size = 0;                   // bytes up to and including the end of this pickle

  const PickleValue& at(PickleId id) const { return values[id]; }
};

// The first pickle in `bytes`, which the result points into. Errors, without a file name: kBadInput for anything
// malformed, cut short or beyond the limits (2,000,000 values, 1,000 open marks); kUnsupported for quantised and
// complex storages.
Result<Pickle> read_pickle(std::span<const std::byte> bytes);

}  // namespace locus::formats
