// A view's state in the JSON of sessions and recipes: a loop over its fields, and the options of the views.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "app/session/json_reader.h"
#include "app/session/recipe.h"
#include "app/session/session.h"
#include "app/session/state_fields.h"

namespace locus::session {

nlohmann::json state_json(const ViewState& state, const StateFields& fields);

// What is absent stays as a fresh state has it. Errors go to the reader: the field, what is expected, what was found.
ViewState read_state(JsonReader reader, const StateFields& fields);

// session.h and recipe.h with states of these fields, instead of state_fields().
std::string to_json(const Session& session, const std::filesystem::path& folder, const StateFields& fields);
Result<Session> parse_session(const nlohmann::json& document, const std::string& file,
                              const std::filesystem::path& folder, const StateFields& fields);
std::string to_json(const Recipe& recipe, const StateFields& fields);

}  // namespace locus::session
