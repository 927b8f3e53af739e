// The fields of a ViewState, each one line of one list: its name in files, its flag, its widget, what it may be and
// what it means. To add one: a member of ViewParameters (of ViewState where no view sees it) and a line in
// state_fields.cpp. Sessions and recipes, the flags and the help of `locus figure`, the docks of the window and its
// help are loops over this list; undo keeps whole states.
#pragma once

#include <array>
#include <charconv>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/session/session.h"
#include "core/base/numbers.h"
#include "core/base/parameter.h"

namespace locus::session {

struct StateField {
  // Where the window shows it: beside the view's name, among the colours, or on the canvas itself.
  enum class Place { kBar, kColors, kCanvas };

  Parameter parameter;  // its name in files: "scale.low" is `low` of the object `scale`
  std::string flag;     // "--low"; empty: said by a word of its own on the command line
  Place place = Place::kColors;
  std::size_t group = 0;   // of a list: its numbers stand together by so many; 0: as many as there are
  bool one_group = false;  // there is one such group
  // Empty: left to the view, and not in files.
  std::function<std::optional<SettingValue>(const ViewState&)> get{};
  // The value has been checked, or is empty, which few fields can be.
  std::function<void(ViewState&, const std::optional<SettingValue>&)> put{};
  std::function<bool(const ViewState&)> applies{};  // whether it matters now; none: always
};

// Sets a field from what was typed; nothing leaves it to the view, where that can be. Errors: kUsage, "NAME: expected
// …, found …".
Status type_field(const StateField& field, ViewState& state, const std::string& typed, const std::string& name);
// The same from a value of a file.
Status put_field(const StateField& field, ViewState& state, const SettingValue& value, const std::string& name);

// The field as it would be typed; empty where it is left to the view.
std::string typed_text(const StateField& field, const ViewState& state);

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

// A field of a member: `member` gives it of a ViewState& and of a const ViewState&, or points to it. The types it knows
// are those of the members of ViewState; another one needs its to_value() and from_value() above.
template <class Member>
StateField state_field(Parameter parameter, std::string flag, Member member,
                       StateField::Place place = StateField::Place::kColors) {
  return {std::move(parameter),
          std::move(flag),
          place,
          0,
          false,
          [member](const ViewState& state) { return to_value(std::invoke(member, state)); },
          [member](ViewState& state, const std::optional<SettingValue>& value) {
            from_value(value, std::invoke(member, state));
          }};
}

}  // namespace locus::session
