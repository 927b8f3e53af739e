#include "core/base/settings.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <type_traits>

#include "core/base/listed.h"
#include "core/base/numbers.h"
#include "core/base/shown.h"

namespace locus {

namespace {

Error wrong_kind(std::string_view name, std::string_view expected, const SettingValue& found) {
  return bad_input("option " + std::string(name) + ": expected " + std::string(expected) + ", found " +
                   shown(to_text(found)));
}

template <class T>
std::optional<T> value_as(const SettingValue& value) {
  if (const T* const own = std::get_if<T>(&value)) {
    return *own;
  }
  if constexpr (std::is_same_v<T, double>) {
    const auto* const whole = std::get_if<std::int64_t>(&value);
    return whole != nullptr ? std::optional(static_cast<double>(*whole)) : std::nullopt;
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    const auto* const number = std::get_if<double>(&value);
    const bool is_whole = number != nullptr && std::nearbyint(*number) == *number && std::abs(*number) < 9e15;
    return is_whole ? std::optional(static_cast<std::int64_t>(*number)) : std::nullopt;
  }
  return std::nullopt;
}

template <class T>
Result<T> read(const std::map<std::string, SettingValue, std::less<>>& values, std::string_view name, const T& fallback,
               std::string_view expected) {
  const auto found = values.find(name);
  if (found == values.end()) {
    return fallback;
  }
  const std::optional<T> value = value_as<T>(found->second);
  return value ? Result<T>(*value) : wrong_kind(name, expected, found->second);
}

}  // namespace

void Settings::erase(std::string_view name) {
  if (const auto found = values_.find(name); found != values_.end()) {
    values_.erase(found);
  }
}

Result<bool> Settings::boolean(std::string_view name, bool fallback) const {
  return read(values_, name, fallback, "true or false");
}

Result<std::int64_t> Settings::integer(std::string_view name, std::int64_t fallback) const {
  return read(values_, name, fallback, "a whole number");
}

Result<double> Settings::number(std::string_view name, double fallback) const {
  return read(values_, name, fallback, "a number");
}

Result<std::string> Settings::text(std::string_view name, std::string_view fallback) const {
  return read(values_, name, std::string(fallback), "a word");
}

Result<std::vector<double>> Settings::numbers(std::string_view name) const {
  return read(values_, name, std::vector<double>(), "a list of numbers");
}

Status Settings::only(std::initializer_list<std::string_view> known) const {
  for (const auto& [name, value] : values_) {
    if (std::find(known.begin(), known.end(), name) != known.end()) {
      continue;
    }
    return bad_input("unknown option " + shown(name) +
                     "; known: " + (known.size() == 0 ? "none" : listed_known(known, "encodings")));
  }
  return {};
}

std::string to_text(const SettingValue& value) {
  struct Shown {
    std::string operator()(bool x) const { return x ? "true" : "false"; }
    std::string operator()(std::int64_t x) const { return std::to_string(x); }
    std::string operator()(double x) const { return number_text(x); }
    std::string operator()(const std::string& x) const { return x; }
    std::string operator()(const std::vector<double>& x) const { return "[" + listed(x, number_text) + "]"; }
  };
  return std::visit(Shown{}, value);
}

}  // namespace locus
