// A session as the text of its file.
#include <nlohmann/json.hpp>

#include "app/session/portable.h"
#include "app/session/session.h"

namespace locus::workbench {

namespace {

using nlohmann::json;

json to_json(const Settings& settings) {
  json object = json::object();
  for (const auto& [name, value] : settings.values()) {
    std::visit([&, &name = name](const auto& x) { object[name] = x; }, value);
  }
  return object;
}

json to_json(const figure::Interval& interval) {
  return json::array({interval.low, interval.high});
}

const char* transfer_name(figure::Transfer transfer) {
  switch (transfer) {
    case figure::Transfer::kLog:
      return "log";
    case figure::Transfer::kGamma:
      return "gamma";
    case figure::Transfer::kLinear:
      break;
  }
  return "linear";
}

json to_json(const views::ScaleOptions& scale) {
  json object{{"colormap", scale.colormap}, {"percentile", scale.percentile},
              {"shared", scale.shared},     {"transfer", transfer_name(scale.transfer)},
              {"gamma", scale.gamma},       {"mask", scale.mask_color}};
  if (scale.low) {
    object["low"] = *scale.low;
  }
  if (scale.high) {
    object["high"] = *scale.high;
  }
  return object;
}

json to_json(const ViewState& state) {
  json object{{"view", state.view},
              {"layer", state.layer},
              {"head", state.head},
              {"query", state.query},
              {"key", state.key},
              {"quantity", models::to_text(state.quantity)},
              {"reduction", state.reduction == models::Reduction::kMax ? "max" : "mean"},
              {"difference", state.difference},
              {"ignore_first", state.ignore_first},
              {"scale", to_json(state.scale)}};
  for (const views::HeadRef& partner : state.partners) {
    object["partners"].push_back({partner.layer, partner.head});
  }
  if (state.camera) {
    object["camera"] = {{"x", to_json(state.camera->x)}, {"y", to_json(state.camera->y)}};
  }
  for (const auto& [view, settings] : state.options) {
    object["options"][view] = to_json(settings);
  }
  return object;
}

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
  return object;
}

}  // namespace

std::string to_json(const Session& session, const std::filesystem::path& folder) {
  json object{{"locus", kSessionFormat}, {"input", to_json(session.input, folder)}, {"state", to_json(session.state)}};
  object["checkpoints"] = json::array();
  for (const CheckpointEntry& entry : session.checkpoints) {
    object["checkpoints"].push_back(to_json(entry, folder));
  }
  object["bookmarks"] = json::array();
  for (const Bookmark& bookmark : session.bookmarks) {
    json each{{"name", bookmark.name}, {"state", to_json(bookmark.state)}};
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

}  // namespace locus::workbench
