// Settings as JSON objects and back: config.json's position_encoding, a trace's encoding.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/base/settings.h"

namespace locus::models {

nlohmann::json to_json(const SettingValue& value);
nlohmann::json to_json(const Settings& settings);

// A boolean, number, string or list of numbers; empty for anything else.
std::optional<SettingValue> value_from_json(const nlohmann::json& member);

// Booleans, numbers, strings and lists of numbers; null members are left out. Errors: kBadInput naming the member, with
// `context` as where.
Result<Settings> settings_from_json(const nlohmann::json& object, const std::string& context);

}  // namespace locus::models
