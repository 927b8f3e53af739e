// A session as the text of its file.
#include <nlohmann/json.hpp>

#include "app/session/portable.h"
#include "app/session/session.h"
#include "app/session/state_json.h"

namespace locus::session {

namespace {

using nlohmann::json;

json to_json(const models::Input& input, const std::filesystem::path& folder) {
  json object = json::object();
  if (input.text) {
    object["text"] = *input.text;
  }
  if (input.ids) {
    object["ids"] = *input.ids;
  }
  if (input.image) {
    object["image"] = relative_path(*input.image, folder);
  }
  if (input.pixels) {
    object["pixels"] = relative_path(*input.pixels, folder);
  }
  if (input.decoder_text) {
    object["decoder_text"] = *input.decoder_text;
  }
  if (input.decoder_ids) {
    object["decoder_ids"] = *input.decoder_ids;
  }
  if (input.position_start != 0) {
    object["position_start"] = input.position_start;
  }
  return object;
}

json to_json(const CheckpointEntry& entry, const std::filesystem::path& folder) {
  json object{{"path", relative_path(entry.path, folder)}, {"shown", entry.shown}};
  if (entry.overrides.rope_base) {
    object["rope_base"] = *entry.overrides.rope_base;
  }
  if (!entry.overrides.rope_scaling.empty()) {
    object["rope_scaling"] = entry.overrides.rope_scaling;
  }
  if (entry.text) {
    object["text"] = *entry.text;
  }
  if (!entry.edits.empty()) {
    object["edits"] = json::parse(models::to_json(entry.edits)).at("edits");
  }
  return object;
}

}  // namespace

std::string to_json(const Session& session, const std::filesystem::path& folder) {
  return to_json(session, folder, state_fields());
}

std::string to_json(const Session& session, const std::filesystem::path& folder, const StateFields& fields) {
  json object{{"locus", kSessionFormat},
              {"input", to_json(session.input, folder)},
              {"state", state_json(session.state, fields)}};
  object["checkpoints"] = json::array();
  for (const CheckpointEntry& entry : session.checkpoints) {
    object["checkpoints"].push_back(to_json(entry, folder));
  }
  object["bookmarks"] = json::array();
  for (const Bookmark& bookmark : session.bookmarks) {
    json each{{"name", bookmark.name}, {"state", state_json(bookmark.state, fields)}};
    if (!bookmark.about.empty()) {
      each["about"] = bookmark.about;
    }
    if (bookmark.input) {
      each["input"] = to_json(*bookmark.input, folder);
    }
    for (const CheckpointEntry& column : bookmark.columns) {
      each["columns"].push_back(to_json(column, folder));
    }
    object["bookmarks"].push_back(std::move(each));
  }
  return object.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace locus::session
