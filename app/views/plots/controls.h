// Short ways to write a view's controls.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "app/views/view.h"

namespace locus::views {

inline Control toggle(std::string name, std::string label, std::string help, bool fallback = false) {
  return {Control::Kind::kToggle, std::move(name), std::move(label), std::move(help), fallback, 0, 1, {}};
}
// `lowest` says what the lowest value stands for, where it is no number.
inline Control whole(std::string name, std::string label, std::string help, std::int64_t fallback, double low,
                     double high, std::string lowest = {}) {
  Control control{Control::Kind::kWhole, std::move(name), std::move(label), std::move(help), fallback, low, high, {}};
  control.logarithmic = low >= 0 && high > 1000;
  control.lowest = std::move(lowest);
  return control;
}
// The first choice is the fallback.
inline Control choice(std::string name, std::string label, std::string help, std::vector<std::string> choices) {
  const std::string first = choices.front();
  return {Control::Kind::kChoice, std::move(name), std::move(label), std::move(help), first, 0, 1, std::move(choices)};
}
// `empty` is said in a field where nothing is typed: what holds then, and how it is typed otherwise.
inline Control words(std::string name, std::string label, std::string help, std::string empty) {
  Control control{Control::Kind::kText, std::move(name), std::move(label), std::move(help), std::string(), 0, 1, {}};
  control.empty = std::move(empty);
  return control;
}

}  // namespace locus::views
