#include "core/base/settings.h"

#include <algorithm>
#include <cmath>

#include "core/base/listed.h"
#include "core/base/numbers.h"
#include "core/base/shown.h"

namespace locus {

namespace {

Error wrong_kind(std::string_view name, std::string_view expected, const SettingValue& found) {
  return bad_input("option " + std::string(name) + ": expected " + std::string(expected) + ", found " +
                   shown(to_text(found)));
}

}  // namespace

void Settings::erase(std::string_view name) {
  if (const auto found = values_.find(name); found != values_.end()) {
    values_.erase(found);
  }
}

Result<bool> Settings::boolean(std::string_view name, bool fallback) const {
  const auto found = values_.find(name);
  if (found == values_.end()) {
    return fallback;
  }
  if (const bool* value = std::get_if<bool>(&found->second)) {
    return *value;
  }
  return wrong_kind(name, "true or false", found->second);
}

Result<std::int64_t> Settings::integer(std::string_view name, std::int64_t fallback) const {
  const auto found = values_.find(name);
  if (found == values_.end()) {
    return fallback;
  }
  if (const std::int64_t* value = std::get_if<std::int64_t>(&found->second)) {
    return *value;
  }
  if (const double* value = std::get_if<double>(&found->second);
      value != nullptr && std::nearbyint(*value) == *value && std::abs(*value) < 9e15) {
    return static_cast<std::int64_t>(*value);
  }
  return wrong_kind(name, "a whole number", found->second);
}

Result<double> Settings::number(std::string_view name, double fallback) const {
  const auto found = values_.find(name);
  if (found == values_.end()) {
    return fallback;
  }
  if (const double* value = std::get_if<double>(&found->second)) {
    return *value;
  }
  if (const std::int64_t* value = std::get_if<std::int64_t>(&found->second)) {
    return static_cast<double>(*value);
  }
  return wrong_kind(name, "a number", found->second);
}

Result<std::string> Settings::text(std::string_view name, std::string_view fallback) const {
  const auto found = values_.find(name);
  if (found == values_.end()) {
    return std::string(fallback);
  }
  if (const std::string* value = std::get_if<std::string>(&found->second)) {
    return *value;
  }
  return wrong_kind(name, "a word", found->second);
}

Result<std::vector<double>> Settings::numbers(std::string_view name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) {
    return std::vector<double>{};
  }
  if (const auto* value = std::get_if<std::vector<double>>(&found->second)) {
    return *value;
  }
  return wrong_kind(name, "a list of numbers", found->second);
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
