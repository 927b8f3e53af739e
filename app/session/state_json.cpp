#include "app/session/state_json.h"

#include <algorithm>
#include <cmath>

#include "models/formats/json/settings_json.h"

namespace locus::session {

namespace {

using nlohmann::json;

constexpr double kLargestWhole = 1e15;  // that a double counts exactly

// "scale.low": where it is in the state's object.
json::json_pointer place_of(const StateField& field) {
  std::string path = "/" + field.parameter.name;
  std::replace(path.begin(), path.end(), '.', '/');
  return json::json_pointer(path);
}

json to_json(const StateField& field, const SettingValue& value) {
  const auto* list = std::get_if<std::vector<double>>(&value);
  if (list == nullptr) {
    return models::to_json(value);
  }
  if (field.one_group || field.group == 0) {
    return *list;
  }
  json groups = json::array();
  for (std::size_t n = 0; n < list->size(); n += field.group) {
    json group = json::array();
    for (std::size_t m = n; m < std::min(n + field.group, list->size()); ++m) {
      const double number = (*list)[m];
      if (number == std::floor(number) && std::abs(number) < kLargestWhole) {
        group.push_back(static_cast<std::int64_t>(number));  // layers and heads
      } else {
        group.push_back(number);
      }
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

// The numbers of a list of groups, in one list; nothing where a group has another size.
std::optional<json> flattened(const StateField& field, const json& groups) {
  json list = json::array();
  for (const json& group : groups.is_array() ? groups : json::array()) {
    if (!group.is_array() || group.size() != field.group) {
      return std::nullopt;
    }
    list.insert(list.end(), group.begin(), group.end());
  }
  return groups.is_array() ? std::optional(list) : std::nullopt;
}

Status read_field(const StateField& field, const json& found, const std::string& where, ViewState& state) {
  const bool grouped = field.group > 0 && !field.one_group;
  const std::optional<json> plain = grouped ? flattened(field, found) : std::optional(found);
  const auto value = plain ? models::value_from_json(*plain) : std::nullopt;
  if (!value) {
    const std::string groups = grouped ? "a list of groups of " + std::to_string(field.group) + " numbers" : "";
    return bad_input(where + ": expected " + (grouped ? groups : expected(field.parameter)) + ", found " +
                     found.type_name());
  }
  return put_field(field, state, *value, where);
}

Settings read_settings(JsonReader reader) {
  Settings settings;
  reader.each_member([&](const std::string& name, const json& member) {
    auto value = member.is_array() ? std::nullopt : models::value_from_json(member);
    if (value) {
      settings.set(name, *std::move(value));
    } else {
      reader.fail(reader.where() + "." + name, "a number, a word, true or false", member);
    }
  });
  return settings;
}

}  // namespace

json state_json(const ViewState& state, const StateFields& fields) {
  json object = json::object();
  for (const StateField& field : fields) {
    if (const auto value = field.get(state)) {
      object[place_of(field)] = to_json(field, *value);
    }
  }
  for (const auto& [view, settings] : state.options) {
    object["options"][view] = models::to_json(settings);
  }
  return object;
}

ViewState read_state(JsonReader reader, const StateFields& fields) {
  ViewState state;
  for (const StateField& field : fields) {
    const std::string& name = field.parameter.name;
    const std::size_t dot = name.find('.');
    if (dot != std::string::npos && reader.has(name.substr(0, dot).c_str())) {
      reader.object(name.substr(0, dot));  // or an error
    }
    if (reader.raw().is_object() && reader.raw().contains(place_of(field))) {
      const Status read = read_field(field, reader.raw().at(place_of(field)), reader.where() + "." + name, state);
      if (!read) {
        reader.refuse(read.error());
      }
    }
  }
  if (reader.has("options")) {
    JsonReader inner = reader.object("options");
    inner.each_member([&](const std::string& view, const json& /*value*/) {
      state.options[view] = read_settings(inner.object(view));
    });
  }
  return state;
}

}  // namespace locus::session
