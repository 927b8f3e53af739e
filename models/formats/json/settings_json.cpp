#include "models/formats/json/settings_json.h"

#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "models/formats/json/json.h"

namespace locus::models {

nlohmann::json to_json(const SettingValue& value) {
  return std::visit([](const auto& plain) { return nlohmann::json(plain); }, value);
}

nlohmann::json to_json(const Settings& settings) {
  nlohmann::json object = nlohmann::json::object();
  for (const auto& [name, value] : settings.values()) {
    object[name] = to_json(value);
  }
  return object;
}

std::optional<SettingValue> value_from_json(const nlohmann::json& member) {
  if (member.is_boolean()) {
    return SettingValue(member.get<bool>());
  }
  if (JsonKind<std::int64_t>::is(member)) {
    return SettingValue(member.get<std::int64_t>());
  }
  if (member.is_number()) {
    return SettingValue(member.get<double>());
  }
  if (member.is_string()) {
    return SettingValue(member.get<std::string>());
  }
  if (!member.is_array()) {
    return std::nullopt;
  }
  std::vector<double> list;
  for (const nlohmann::json& item : member) {
    if (!item.is_number()) {
      return std::nullopt;
    }
    list.push_back(item.get<double>());
  }
  return SettingValue(std::move(list));
}

Result<Settings> settings_from_json(const nlohmann::json& object, const std::string& context) {
  LOCUS_CHECK(JsonObject::of(object, context));
  Settings settings;
  for (const auto& [name, member] : object.items()) {
    if (!member.is_null()) {
      auto value = value_from_json(member);
      if (!value) {
        return bad_input(name + ": expected a number, text, truth value or list of numbers, found " +
                             (member.is_array() ? "a list of something else" : member.type_name()),
                         context);
      }
      settings.set(name, *std::move(value));
    }
  }
  return settings;
}

}  // namespace locus::models
