// A session as the text of its file.
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "app/session/portable.h"
#include "app/session/session.h"
#include "app/session/state_json.h"

namespace locus::session {

namespace {

using nlohmann::json;

// Paths as a file in a folder names them. Each is looked up once: many figures share few checkpoints.
class StoredPaths {
 public:
  explicit StoredPaths(const std::filesystem::path& folder) : folder_(folder) {}
  const std::string& of(const std::filesystem::path& path) {
    const auto known = known_.find(path.native());
    return known != known_.end() ? known->second
                                 : known_.emplace(path.native(), relative_path(path, folder_)).first->second;
  }

 private:
  const std::filesystem::path& folder_;
  std::unordered_map<std::string, std::string> known_;
};

template <class T>
void put(const char* name, const std::optional<T>& value, json& object) {
  if (value) {
    object[name] = *value;
  }
}

json to_json(const models::Input& input, StoredPaths& paths) {
  json object = json::object();
  put("text", input.text, object);
  put("ids", input.ids, object);
  for (const auto& [name, path] : {std::pair("image", &input.image), std::pair("pixels", &input.pixels)}) {
    if (path->has_value()) {
      object[name] = paths.of(**path);
    }
  }
  for (const std::filesystem::path& image : input.images) {
    object["images"].push_back(paths.of(image));
  }
  if (!input.token_types.empty()) {
    object["token_types"] = input.token_types;
  }
  put("decoder_text", input.decoder_text, object);
  put("decoder_ids", input.decoder_ids, object);
  if (input.position_start != 0) {
    object["position_start"] = input.position_start;
  }
  return object;
}

json to_json(const CheckpointEntry& entry, StoredPaths& paths) {
  json object{{"path", paths.of(entry.path)}, {"shown", entry.shown}};
  put("rope_base", entry.overrides.rope_base, object);
  if (!entry.overrides.rope_scaling.empty()) {
    object["rope_scaling"] = entry.overrides.rope_scaling;
  }
  for (const auto& [name, layers] : {std::pair{"rope_base_layers", entry.overrides.rope_base_layers},
                                     {"rope_scaling_layers", entry.overrides.rope_scaling_layers}}) {
    if (!layers.empty()) {
      object[name] = layers;
    }
  }
  put("text", entry.text, object);
  if (entry.own) {
    object["head"] = {entry.own->layer, entry.own->head};
  }
  if (!entry.edits.empty()) {
    object["edits"] = json::parse(models::to_json(entry.edits)).at("edits");
  }
  return object;
}

}  // namespace

std::string to_json(const Session& session, const std::filesystem::path& folder, const StateFields& fields) {
  StoredPaths paths(folder);
  json object{{"locus", kSessionFormat},
              {"input", to_json(session.input, paths)},
              {"state", state_json(session.state, fields)}};
  object["checkpoints"] = json::array();
  for (const CheckpointEntry& entry : session.checkpoints) {
    object["checkpoints"].push_back(to_json(entry, paths));
  }
  object["bookmarks"] = json::array();
  for (const Bookmark& bookmark : session.bookmarks) {
    json each{{"name", bookmark.name}, {"state", state_json(bookmark.state, fields)}};
    if (!bookmark.about.empty()) {
      each["about"] = bookmark.about;
    }
    if (bookmark.input) {
      each["input"] = to_json(*bookmark.input, paths);
    }
    for (const CheckpointEntry& column : bookmark.columns) {
      each["columns"].push_back(to_json(column, paths));
    }
    object["bookmarks"].push_back(std::move(each));
  }
  return object.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace locus::session
