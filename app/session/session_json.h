// The parts of sessions and recipes as JSON: loops over the fields of the schema, inputs and checkpoints.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "app/session/paper_fields.h"
#include "app/session/session.h"
#include "app/session/state_fields.h"
#include "models/formats/json/node.h"

namespace locus::session {

// How a file names a path.
using PathName = std::function<std::string(const std::filesystem::path&)>;

formats::Tree to_tree(const models::Input& input, const PathName& name);
// `path` is how the file names the checkpoint, `name` how it names the base of an adapter.
formats::Tree to_tree(const CheckpointEntry& entry, const std::string& path, const PathName& name);
formats::Tree to_tree(const ViewState& state, const StateFields& fields);
formats::Tree to_tree(const PaperState& paper);

// An absent field keeps its default. Errors go to the node: the field, what is expected, what was found.
ViewState read_state(const formats::Node& node, const StateFields& fields);
PaperState read_paper(const formats::Node& node);

// A session from its document; errors begin with `file`.
Result<Session> read_session(const formats::Tree& document, const std::string& file,
                             const std::filesystem::path& folder, const StateFields& fields = state_fields());

}  // namespace locus::session
