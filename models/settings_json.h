// Settings as JSON objects and back: config.json's position_encoding, a trace's encoding.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/base/result.h"
#include "core/base/settings.h"

namespace locus::models {

nlohmann::json to_json(const Settings& settings);

// Booleans, numbers, strings and lists of numbers; null members are left out. Errors: kBadInput naming the member, with
// `context` as where.
Result<Settings> settings_from_json(const nlohmann::json& object, const std::string& context);

}  // namespace locus::models
