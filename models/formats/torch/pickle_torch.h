// The pickle machine's implementation of torch's names.
#pragma once

#include <unordered_map>

#include "models/formats/torch/pickle.h"

namespace locus::formats {

// Creates values for calls of the allow-list. `pickle` is under construction.
class TorchNames {
 public:
  explicit TorchNames(Pickle& pickle) : pickle_(pickle) {}

  // The value of the name `text` = "MODULE NAME": kGlobal, kDtype or kInert.
  PickleValue name(std::string_view text);
  // The result of calling `callable` with the tuple `arguments`: a new value at the end of pickle.values, or an
  // existing one.
  Result<PickleId> call(PickleId callable, PickleId arguments);
  // The storage of a persistent id ("storage", type, key, location, count[, view]).
  Result<PickleValue> storage(PickleId id);

 private:
  const PickleValue& at(PickleId id) const { return pickle_.at(id); }
  Result<PickleValue> tensor(const std::vector<PickleId>& arguments, bool typed);
  Result<std::vector<std::int64_t>> sizes(PickleId id, const char* what) const;
  Result<PickleValue> dict(const std::vector<PickleId>& arguments);
  PickleId add(PickleValue value);

  Pickle& pickle_;
  std::size_t copied_ = 0;                                      // items of lists converted to dicts
  std::unordered_map<std::string_view, std::size_t> storages_;  // by key
};

}  // namespace locus::formats
