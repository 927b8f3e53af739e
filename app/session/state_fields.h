// The schema of a figure: the fields of a view's state (ViewState) and of paper (PaperState), each declared once with
// its name in files, its flag, its bounds, its default, its label and its help. Sessions and recipes, the flags and the
// help of `locus figure`, the docks of the window and the export dialog are loops over these lists; undo keeps whole
// states.
//
// To add a field: a member of ViewParameters (of ViewState where no view uses it) and a line in state_fields.cpp, or a
// member of PaperState and a line in paper_fields.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/session/session.h"
#include "core/base/controls.h"
#include "core/base/numbers.h"
#include "core/base/parameter.h"

namespace locus::session {

// Where the window shows a field of a view: beside the view's name, among the colours, or on the canvas itself.
enum class FieldPlace { kBar, kColors, kCanvas };

template <class State>
struct FieldOf {
  using Place = FieldPlace;

  Parameter parameter;  // its name in files: "scale.low" is `low` of the object `scale`
  std::string flag;     // "--low"; empty: the command line has another way to say it
  Place place = Place::kColors;
  std::size_t group = 0;   // of a list: the size of its groups of numbers; 0: a plain list
  bool one_group = false;  // a list of exactly one group
  // Empty: left to the view, and not in files.
  std::function<std::optional<SettingValue>(const State&)> get{};
  // Sets a checked value; no value restores the default, for the few fields that have a state without a value.
  std::function<void(State&, const std::optional<SettingValue>&)> put{};
  std::function<bool(const State&)> applies{};  // whether it has an effect now; none: always
  std::function<Status(const SettingValue&)>
      check{};                          // in addition to the parameter's own; errors: "expected …, found …"
  std::optional<SettingValue> unset{};  // how files write a field without a value; none: not at all
  std::string unit{};                   // "mm", behind the number in a dialog
  int decimals = 1;                     // of a number in a dialog
};

// ---- setting fields and reading them

namespace detail {

// Errors: kUsage where a list is not made of the field's groups.
Status check_groups(const SettingValue& value, std::size_t group, bool one_group, const std::string& name);

}  // namespace detail

// Sets a field from a value of a file. Errors: kUsage, "NAME: expected …, found …".
template <class State>
Status put_field(const FieldOf<State>& field, State& state, const SettingValue& value, const std::string& name) {
  LOCUS_TRY(SettingValue good, checked(field.parameter, value, name));
  LOCUS_CHECK(detail::check_groups(good, field.group, field.one_group, name));
  if (const Status own = field.check ? field.check(good) : Status(); !own.ok()) {
    return usage(name + ": " + own.error().message);
  }
  field.put(state, good);
  return {};
}

// Sets a field from what was typed; an empty text restores a field that can be without a value. Errors: as put_field().
template <class State>
Status type_field(const FieldOf<State>& field, State& state, const std::string& typed, const std::string& name) {
  if (typed.empty() && !field.get(State{})) {
    field.put(state, std::nullopt);
    return {};
  }
  LOCUS_TRY(const SettingValue value, parse(field.parameter, typed, name));
  return put_field(field, state, value, name);
}

// The field as it would be typed; empty where it has no value.
template <class State>
std::string typed_text(const FieldOf<State>& field, const State& state) {
  const auto value = field.get(state);
  return value ? to_text(field.parameter, *value) : std::string();
}

// The words of a command line for the fields that differ from their defaults: "--dpi", "600", "--marks".
template <class State>
std::vector<std::string> flag_words(const std::vector<FieldOf<State>>& fields, const State& state) {
  std::vector<std::string> words;
  for (const FieldOf<State>& field : fields) {
    const std::string typed = typed_text(field, state);
    if (field.flag.empty() || typed.empty() || typed == typed_text(field, State{})) {
      continue;
    }
    const bool flag = field.parameter.kind == Parameter::Kind::kToggle && field.parameter.choices.empty();
    if (!flag || typed == "true") {
      words.push_back(field.flag);
    }
    if (!flag) {
      words.push_back(typed);
    }
  }
  return words;
}

// ---- how members are values

template <class T>
std::optional<SettingValue> to_value(const T& member) {
  return SettingValue(member);
}
// A float as the shortest decimal that reads back as the same float: 0.7, not 0.699999988079071.
inline std::optional<SettingValue> to_value(float member) {
  std::array<char, 32> text{};
  const auto [end, code] = std::to_chars(text.data(), text.data() + text.size(), member);
  const auto number = parse_number<double>({text.data(), static_cast<std::size_t>(end - text.data())});
  return SettingValue(code == std::errc() && number ? *number : static_cast<double>(member));
}
inline std::optional<SettingValue> to_value(std::uint32_t member) {
  return SettingValue(static_cast<std::int64_t>(member));
}
inline std::optional<SettingValue> to_value(const std::optional<float>& member) {
  return member ? to_value(*member) : std::nullopt;
}
template <class T>
void from_value(const std::optional<SettingValue>& value, T& member) {
  if (const T* held = value ? std::get_if<T>(&*value) : nullptr) {
    member = *held;
  }
}
inline void from_value(const std::optional<SettingValue>& value, float& member) {
  double number = static_cast<double>(member);
  from_value(value, number);
  member = static_cast<float>(number);
}
inline void from_value(const std::optional<SettingValue>& value, std::uint32_t& member) {
  std::int64_t number = member;
  from_value(value, number);
  member = static_cast<std::uint32_t>(number);
}
inline void from_value(const std::optional<SettingValue>& value, std::optional<float>& member) {
  member.reset();
  if (value) {
    from_value(value, member.emplace());
  }
}

// The numbers of a list; null for any other value.
inline const std::vector<double>* list_in(const std::optional<SettingValue>& value) {
  return value ? std::get_if<std::vector<double>>(&*value) : nullptr;
}

// ---- kinds of fields

// A field of a member: `member` gives it of a State& and of a const State&, or points to it. Types of members other
// than those above need their own to_value() and from_value().
template <class State = ViewState, class Member>
FieldOf<State> state_field(Parameter parameter, std::string flag, Member member,
                           FieldPlace place = FieldPlace::kColors) {
  return {std::move(parameter),
          std::move(flag),
          place,
          0,
          false,
          [member](const State& state) { return to_value(std::invoke(member, state)); },
          [member](State& state, const std::optional<SettingValue>& value) {
            from_value(value, std::invoke(member, state));
          }};
}

// The field, in files only where it differs from its default.
template <class State>
FieldOf<State> unless_default(FieldOf<State> field) {
  field.get = [get = field.get](const State& state) -> std::optional<SettingValue> {
    const auto value = get(state);
    return value == get(State{}) ? std::nullopt : value;
  };
  return field;
}

// A toggle with words of its own on the command line.
inline Parameter typed_toggle(std::string name, std::string label, std::string help, bool fallback, std::string off,
                              std::string on) {
  Parameter parameter = toggle(std::move(name), std::move(label), std::move(help), fallback);
  parameter.choices = {std::move(off), std::move(on)};
  return parameter;
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

// The fields that are chosen on the canvas beyond places of maps: visible parts of plots, marks, and the matrix of
// heads. Each is in files only where something is chosen.
StateFields canvas_fields();

}  // namespace locus::session
