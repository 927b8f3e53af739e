// Parsing of one edit from its JSON object, from a file or made of a short form.
#pragma once

#include <nlohmann/json.hpp>

#include "core/base/result.h"
#include "models/api/edits.h"

namespace locus::models {

// Errors: those of parse_edits(), without a file.
Result<Edit> edit_from_json(const nlohmann::json& value, std::size_t index);

}  // namespace locus::models
