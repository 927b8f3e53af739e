// Options of encodings, read from Settings and checked. Errors: kBadInput naming the option, what is expected and what
// was found.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/listed.h"
#include "core/base/result.h"
#include "core/base/settings.h"
#include "core/base/shown.h"

namespace locus::position {

// What an option's words stand for.
template <class Value, std::size_t N>
using Choices = std::array<std::pair<std::string_view, Value>, N>;

template <class Value, std::size_t N>
std::string name_of(const Choices<Value, N>& choices, Value value) {
  for (const auto& [name, named] : choices) {
    if (named == value) {
      return std::string(name);
    }
  }
  return {};
}

template <class Value, std::size_t N>
Result<Value> choice_option(const Settings& settings, std::string_view option, const Choices<Value, N>& choices,
                            Value fallback) {
  LOCUS_TRY(const std::string found, settings.text(option, name_of(choices, fallback)));
  for (const auto& [name, value] : choices) {
    if (name == found) {
      return value;
    }
  }
  const std::string known = listed(choices, [](const auto& each) { return each.first; });
  return bad_input("option " + std::string(option) + ": expected one of " + known + ", found " + shown(found));
}

// A choice of two words: whether it is the second.
inline Result<bool> second_of(const Settings& settings, const char* option, const char* first, const char* second) {
  LOCUS_TRY(const std::string word, settings.text(option, first));
  if (word != first && word != second) {
    return bad_input("option " + std::string(option) + ": expected " + first + " or " + second + ", found " +
                     shown(word));
  }
  return word == second;
}

// A whole number of `low` to `high`.
inline Result<std::int64_t> whole_option(const Settings& settings, std::string_view option, std::int64_t low,
                                         std::int64_t high, std::int64_t fallback) {
  LOCUS_TRY(const std::int64_t value, settings.integer(option, fallback));
  if (value < low || value > high) {
    return bad_input("option " + std::string(option) + ": expected " + std::to_string(low) + " to " +
                     std::to_string(high) + ", found " + std::to_string(value));
  }
  return value;
}

// kBadInput unless the base of frequencies base^(−2m/D) is finite and above 1.
inline Status check_base(double base) {
  if (!(base > 1) || !std::isfinite(base)) {
    return bad_input("option base: expected a number above 1, found " + to_text(SettingValue(base)));
  }
  return {};
}

}  // namespace locus::position
