#include "models/settings_json.h"

#include <utility>
#include <variant>
#include <vector>

namespace locus::models {

namespace {

Result<SettingValue> value_of(const nlohmann::json& member, const std::string& name, const std::string& context) {
  if (member.is_boolean()) {
    return SettingValue(member.get<bool>());
  }
  if (member.is_number_integer()) {
    return SettingValue(member.get<std::int64_t>());
  }
  if (member.is_number()) {
    return SettingValue(member.get<double>());
  }
  if (member.is_string()) {
    return SettingValue(member.get<std::string>());
  }
  if (member.is_array()) {
    std::vector<double> list;
    for (const nlohmann::json& item : member) {
      if (!item.is_number()) {
        return bad_input(name + ": expected a list of numbers, found " + item.type_name(), context);
      }
      list.push_back(item.get<double>());
    }
    return SettingValue(std::move(list));
  }
  return bad_input(name + ": expected a number, text, truth value or list of numbers, found " + member.type_name(),
                   context);
}

}  // namespace

nlohmann::json to_json(const Settings& settings) {
  nlohmann::json object = nlohmann::json::object();
  for (const auto& [name, value] : settings.values()) {
    std::visit([&](const auto& plain) { object[name] = plain; }, value);
  }
  return object;
}

Result<Settings> settings_from_json(const nlohmann::json& object, const std::string& context) {
  if (!object.is_object()) {
    return bad_input(std::string("expected an object, found ") + object.type_name(), context);
  }
  Settings settings;
  for (const auto& [name, member] : object.items()) {
    if (!member.is_null()) {
      LOCUS_TRY(SettingValue value, value_of(member, name, context));
      settings.set(name, std::move(value));
    }
  }
  return settings;
}

}  // namespace locus::models
