// Value: a number, word or truth value of a family file, or a small formula of fields of a checkpoint's config.json.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/base/result.h"
#include "core/base/settings.h"
#include "models/formats/config.h"
#include "models/formats/json/node.h"

namespace locus::families {

// The layer that a value is for, in a rule of layers: a field that is a list with an entry for each layer has the
// layer's.
struct LayerOf {
  std::int64_t index = 0;
  std::int64_t count = 0;  // layers of the model; 0: the value is for all of them
};

// A constant; {"field": PATH, "or": VALUE, "null": VALUE}, where PATH may be several spellings "a|b", `or` is the value
// of an absent field and `null` that of a null (without it, null counts as absent; without `or`, the field is required);
// {"sqrt"|"inverse": VALUE}; {"plus"|"times": [VALUE, …]}; {"over": [VALUE, VALUE]};
// {"multiple": [x, n]}, the smallest multiple of n that is no less than ⌊x⌋.
class Value {
 public:
  // Remembers a wrong value as the node's error.
  static Value read(const formats::Node& node);

  // A field that is true or false, and false where it is absent.
  static Value flag(const std::string& field, std::string place);

  // Errors: kBadInput naming the field of the config, or this value where it is of another kind.
  Result<SettingValue> of(const formats::Config& config, const LayerOf& layer = {}) const;
  Result<double> number(const formats::Config& config, const LayerOf& layer = {}) const;
  Result<std::int64_t> integer(const formats::Config& config) const;
  Result<bool> boolean(const formats::Config& config) const;
  Result<std::string> word(const formats::Config& config) const;

  // Whether it reads no field.
  bool constant() const { return constant_; }
  const std::string& place() const { return place_; }

 private:
  using Formula = std::function<Result<SettingValue>(const formats::Config&, const LayerOf&)>;

  Error other_kind(const char* expected) const;

  Formula formula_;
  bool constant_ = true;
  std::string place_;  // "FILE: set.width"
};

// The first of the spellings "a|b" that the config has; the first where it has none.
std::string spelling(const formats::Config& config, const std::string& spellings);

}  // namespace locus::families
