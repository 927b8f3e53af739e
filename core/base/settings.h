// Settings: named option values as they come from config.json, the command line or a control, free of any JSON library.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/result.h"

namespace locus {

using SettingValue = std::variant<bool, std::int64_t, double, std::string, std::vector<double>>;

// An ordered name → value map. Getters return the fallback when the name is absent, and an Error (kBadInput, naming the
// option, the expected kind and the value found) when it is there with another kind. Integers are accepted where
// doubles are expected.
class Settings {
 public:
  Settings() = default;
  Settings(std::initializer_list<std::pair<const std::string, SettingValue>> values) : values_(values) {}

  bool has(std::string_view name) const { return values_.find(name) != values_.end(); }
  void set(std::string name, SettingValue value) { values_.insert_or_assign(std::move(name), std::move(value)); }
  void erase(std::string_view name);
  const std::map<std::string, SettingValue, std::less<>>& values() const { return values_; }

  Result<bool> boolean(std::string_view name, bool fallback) const;
  Result<std::int64_t> integer(std::string_view name, std::int64_t fallback) const;
  Result<double> number(std::string_view name, double fallback) const;
  Result<std::string> text(std::string_view name, std::string_view fallback) const;
  Result<std::vector<double>> numbers(std::string_view name) const;

  // An Error naming the first option that is not in `known`, with the known ones.
  Status only(std::initializer_list<std::string_view> known) const;

  friend bool operator==(const Settings&, const Settings&) = default;

 private:
  std::map<std::string, SettingValue, std::less<>> values_;
};

// "4", "true", "half", "[1, 2]": how a value is shown to a person.
std::string to_text(const SettingValue& value);

}  // namespace locus
