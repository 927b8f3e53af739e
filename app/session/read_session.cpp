// A session from its parsed file.
#include <nlohmann/json.hpp>

#include "app/session/json_reader.h"
#include "app/session/portable.h"
#include "app/session/session.h"
#include "core/base/atomic_file.h"

namespace locus::workbench {

namespace {

using nlohmann::json;
using Reader = JsonReader;

constexpr std::size_t kLongestFile = 64U << 20;

Settings read_settings(Reader reader) {
  Settings settings;
  reader.each_member([&](const std::string& name, const json& value) {
    if (value.is_boolean()) {
      settings.set(name, value.get<bool>());
    } else if (value.is_number_integer()) {
      settings.set(name, value.get<std::int64_t>());
    } else if (value.is_number()) {
      settings.set(name, value.get<double>());
    } else if (value.is_string()) {
      settings.set(name, value.get<std::string>());
    } else {
      reader.fail(reader.where() + "." + name, "a number, a word, true or false", value);
    }
  });
  return settings;
}

views::ScaleOptions read_scale(Reader reader) {
  views::ScaleOptions scale;
  reader.get("colormap", scale.colormap);
  reader.get("low", scale.low);
  reader.get("high", scale.high);
  reader.get("percentile", scale.percentile);
  reader.get("shared", scale.shared);
  reader.get("gamma", scale.gamma);
  reader.get("mask", scale.mask_color);
  reader.get_word("transfer", "linear, log or gamma", [&](const std::string& word) {
    scale.transfer = word == "log"     ? figure::Transfer::kLog
                     : word == "gamma" ? figure::Transfer::kGamma
                                       : figure::Transfer::kLinear;
    return word == "log" || word == "gamma" || word == "linear";
  });
  return scale;
}

ViewState read_state(Reader reader) {
  ViewState state;
  reader.get("view", state.view);
  reader.get("layer", state.layer);
  reader.get("head", state.head);
  reader.get("query", state.query);
  reader.get("key", state.key);
  reader.get("difference", state.difference);
  reader.get("ignore_first", state.ignore_first);
  reader.get_word("quantity", "a quantity", [&](const std::string& word) {
    const auto quantity = models::parse_quantity(word);
    state.quantity = quantity ? *quantity : models::Quantity::kWeight;
    return quantity.ok();
  });
  reader.get_word("reduction", "max or mean", [&](const std::string& word) {
    state.reduction = word == "mean" ? models::Reduction::kMean : models::Reduction::kMax;
    return word == "mean" || word == "max";
  });
  reader.each_value("partners", "a pair of layer and head", [&](const json& partner) {
    const bool pair =
        partner.is_array() && partner.size() == 2 && partner[0].is_number_integer() && partner[1].is_number_integer();
    if (pair) {
      state.partners.push_back({partner[0].get<std::int64_t>(), partner[1].get<std::int64_t>()});
    }
    return pair;
  });
  if (reader.has("scale")) {
    state.scale = read_scale(reader.object("scale"));
  }
  if (reader.has("camera")) {
    views::Camera camera;
    Reader inner = reader.object("camera");
    inner.get("x", camera.x);
    inner.get("y", camera.y);
    state.camera = camera;
  }
  if (reader.has("options")) {
    Reader inner = reader.object("options");
    inner.each_member([&](const std::string& view, const json& /*value*/) {
      state.options[view] = read_settings(inner.object(view));
    });
  }
  return state;
}

models::Input read_input(Reader reader, const std::filesystem::path& folder) {
  models::Input input;
  reader.get("text", input.text);
  reader.get("position_start", input.position_start);
  if (reader.has("text_file")) {  // written by hand: a text that several figures share
    std::string name;
    reader.get("text_file", name);
    const auto text = read_file((folder / name).lexically_normal(), kLongestFile);
    if (text) {
      input.text = *text;
    } else {
      reader.fail(text.error());
    }
  }
  const auto path = [&](const char* name, std::optional<std::filesystem::path>& value) {
    std::optional<std::string> word;
    reader.get(name, word);
    if (word) {
      value = find_stored(*word, folder);
    }
  };
  path("image", input.image);
  path("pixels", input.pixels);
  if (reader.has("ids")) {
    input.ids.emplace();
    reader.each_value("ids", "a whole number", [&](const json& id) {
      if (id.is_number_integer()) {
        input.ids->push_back(id.get<std::int64_t>());
      }
      return id.is_number_integer();
    });
  }
  return input;
}

CheckpointEntry read_checkpoint(Reader reader, const std::filesystem::path& folder) {
  CheckpointEntry entry;
  std::string path;
  reader.get("path", path);
  reader.get("shown", entry.shown);
  reader.get("rope_base", entry.overrides.rope_base);
  reader.get("rope_scaling", entry.overrides.rope_scaling);
  if (path.empty()) {
    reader.fail(reader.where() + ".path", "a path", reader.raw());
  }
  entry.path = find_stored(path, folder);
  return entry;
}

}  // namespace

Result<Session> parse_session(const json& document, const std::string& file, const std::filesystem::path& folder) {
  std::optional<Error> error;
  Reader reader(document, "session", error);
  std::string format;
  reader.get("locus", format);
  if (!error && format != kSessionFormat) {
    return bad_input(
        "expected a session (\"locus\": \"" + std::string(kSessionFormat) + "\"), found \"" + format + "\"", file);
  }
  Session session;
  if (reader.has("input")) {
    session.input = read_input(reader.object("input"), folder);
  }
  if (reader.has("state")) {
    session.state = read_state(reader.object("state"));
  }
  reader.each("checkpoints",
              [&](const Reader& entry) { session.checkpoints.push_back(read_checkpoint(entry, folder)); });
  reader.each("bookmarks", [&](Reader entry) {
    Bookmark bookmark;
    entry.get("name", bookmark.name);
    entry.get("about", bookmark.about);
    if (entry.has("state")) {
      bookmark.state = read_state(entry.object("state"));
    }
    if (entry.has("input")) {
      bookmark.input = read_input(entry.object("input"), folder);
    }
    entry.each("columns", [&](const Reader& column) { bookmark.columns.push_back(read_checkpoint(column, folder)); });
    session.bookmarks.push_back(std::move(bookmark));
  });
  if (error) {
    return error->within(file);
  }
  return session;
}

}  // namespace locus::workbench
