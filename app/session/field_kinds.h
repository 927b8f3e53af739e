// Kinds of fields of a view's state that several lists of fields share.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/session/state_fields.h"
#include "core/base/controls.h"

namespace locus::session {

// The numbers of a list; null for any other value.
inline const std::vector<double>* list_in(const std::optional<SettingValue>& value) {
  return value ? std::get_if<std::vector<double>>(&*value) : nullptr;
}

// The values of an enumeration with their names.
template <class Values, class Enum = typename Values::value_type>
std::vector<std::pair<std::string, Enum>> named(const Values& values) {
  std::vector<std::pair<std::string, Enum>> list;
  list.reserve(std::size(values));
  for (const Enum value : values) {
    list.emplace_back(to_text(value), value);
  }
  return list;
}

// A choice between the values of an enumeration.
template <class Enum, class Member>
StateField enumerated(const char* name, const char* label, const char* help, const char* flag,
                      std::vector<std::pair<std::string, Enum>> values, Member member, StateField::Place place) {
  std::vector<std::string> names;
  names.reserve(values.size());
  for (const auto& [word, value] : values) {
    names.push_back(word);
  }
  const auto get = [=](const ViewState& state) {
    const auto found =
        std::ranges::find_if(values, [&](const auto& each) { return each.second == std::invoke(member, state); });
    return found == values.end() ? std::nullopt : std::optional<SettingValue>(found->first);
  };
  const auto put = [=](ViewState& state, const std::optional<SettingValue>& chosen) {
    const auto* word = chosen ? std::get_if<std::string>(&*chosen) : nullptr;
    for (const auto& [known, value] : values) {
      if (word != nullptr && known == *word) {
        std::invoke(member, state) = value;
      }
    }
  };
  return {choice(name, label, help, names), flag, place, 0, false, get, put};
}

}  // namespace locus::session
