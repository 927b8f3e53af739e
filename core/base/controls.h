// Short ways to write a Parameter of each kind.
#pragma once

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/base/parameter.h"

namespace locus {

inline Parameter toggle(std::string name, std::string label, std::string help, bool fallback = false) {
  return {Parameter::Kind::kToggle, std::move(name), std::move(label), std::move(help), fallback, 0, 1, {}};
}
// `lowest` says what the lowest value stands for, where it is no number.
inline Parameter whole(std::string name, std::string label, std::string help, std::int64_t fallback, double low,
                       double high, std::string lowest = {}) {
  Parameter made{Parameter::Kind::kWhole, std::move(name), std::move(label), std::move(help), fallback, low, high, {}};
  made.logarithmic = low >= 0 && high > 1000;
  made.lowest = std::move(lowest);
  return made;
}
// An empty text as the fallback: there is none.
inline Parameter number(std::string name, std::string label, std::string help, SettingValue fallback, double low,
                        double high) {
  return {
      Parameter::Kind::kNumber, std::move(name), std::move(label), std::move(help), std::move(fallback), low, high, {}};
}
// Numbers from `low`, as many as are typed.
inline Parameter numbers(std::string name, std::string label, std::string help, double low) {
  return {Parameter::Kind::kList,
          std::move(name),
          std::move(label),
          std::move(help),
          std::vector<double>(),
          low,
          std::numeric_limits<double>::infinity(),
          {}};
}
// The first choice is the fallback.
inline Parameter choice(std::string name, std::string label, std::string help, std::vector<std::string> choices) {
  const std::string first = choices.front();
  return {Parameter::Kind::kChoice, std::move(name), std::move(label), std::move(help), first, 0, 1,
          std::move(choices)};
}
// `empty` is said in a field where nothing is typed: what holds then, and how it is typed otherwise.
inline Parameter words(std::string name, std::string label, std::string help, std::string empty) {
  Parameter made{Parameter::Kind::kText, std::move(name), std::move(label), std::move(help), std::string(), 0, 1, {}};
  made.empty = std::move(empty);
  return made;
}

}  // namespace locus
