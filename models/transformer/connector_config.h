// The connector in config.json of Locus's own checkpoints: the tower states that it reads, and its steps.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/base/result.h"
#include "models/transformer/connector.h"

namespace locus::transformer {

// Example: {"states": [2], "class_tokens": false, "steps": [{"kind": "join", "size": 2}, {"kind": "linear", "name":
// "up", …}]}.
nlohmann::ordered_json connector_config(const ConnectorSpec& spec);

// Required: `states`, `steps`, and the name of each step with parameters (letters, digits and _, unique).
// Connector::create() checks that sizes fit tower and text. Errors: kBadInput naming file, field, expected and found.
Result<ConnectorSpec> parse_connector_config(const nlohmann::json& config, const std::string& file);

}  // namespace locus::transformer
