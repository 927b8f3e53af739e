// JSON as sub-commands print it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace locus::cli {

using Json = nlohmann::ordered_json;

// Two spaces of indentation; bytes that are not UTF-8 become U+FFFD.
std::string dump(const Json& json);

}  // namespace locus::cli
