// A view's state in the JSON of sessions and recipes: a loop over its fields, and the options of the views.
#pragma once

#include <nlohmann/json.hpp>

#include "app/session/json_reader.h"
#include "app/session/session.h"
#include "app/session/state_fields.h"

namespace locus::session {

nlohmann::json state_json(const ViewState& state, const StateFields& fields);

// What is absent stays as a fresh state has it. Errors go to the reader: the field, what is expected, what was found.
ViewState read_state(JsonReader reader, const StateFields& fields);

}  // namespace locus::session
