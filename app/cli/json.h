// JSON as sub-commands print it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/base/settings.h"

namespace locus::cli {

using Json = nlohmann::ordered_json;

// Every option under its name, with its own type.
Json to_json(const Settings& settings);

// Two spaces of indentation; bytes that are not UTF-8 become U+FFFD.
std::string dump(const Json& json);

}  // namespace locus::cli
