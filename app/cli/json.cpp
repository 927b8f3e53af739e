#include "app/cli/json.h"

#include <variant>

namespace locus::cli {

Json to_json(const Settings& settings) {
  Json json = Json::object();
  for (const auto& [name, value] : settings.values()) {
    std::visit([&json, &key = name](const auto& held) { json[key] = held; }, value);
  }
  return json;
}

std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace locus::cli
