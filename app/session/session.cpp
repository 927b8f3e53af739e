#include "app/session/session.h"

#include <nlohmann/json.hpp>

#include "core/base/atomic_file.h"
#include "models/text/json.h"

namespace locus::workbench {

namespace {

using nlohmann::json;

constexpr const char* kFormat = "session/1";
constexpr std::size_t kLongestFile = 64U << 20;

// ---- writing

std::string relative_path(const std::filesystem::path& path, const std::filesystem::path& folder) {
  std::error_code code;
  const auto target = std::filesystem::weakly_canonical(path, code);
  const auto base = std::filesystem::weakly_canonical(folder, code);
  const auto relative = target.lexically_relative(base);
  return (relative.empty() ? target : relative).generic_string();
}

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

// ---- reading

// One object of the file, read field by field; the first field of a wrong kind is remembered as the error.
class Reader {
 public:
  Reader(const json& object, std::string where, std::optional<Error>& error)
      : object_(object), where_(std::move(where)), error_(error) {
    if (!object_.is_object()) {
      fail(where_, "an object", object_);
    }
  }

  bool has(const char* name) const { return object_.is_object() && object_.contains(name); }
  void get(const char* name, bool& value) { read(name, "true or false", &json::is_boolean, value); }
  void get(const char* name, std::string& value) { read(name, "a string", &json::is_string, value); }
  void get(const char* name, std::int64_t& value) { read(name, "a whole number", &json::is_number_integer, value); }
  void get(const char* name, double& value) { read(name, "a number", &json::is_number, value); }
  void get(const char* name, float& value) { read(name, "a number", &json::is_number, value); }
  void get(const char* name, std::uint32_t& value) {
    std::int64_t number = value;
    get(name, number);
    if (number < 0 || number > 0xFFFFFFFF) {
      fail(where_ + "." + name, "a whole number below 2^32", object_.at(name));
      return;
    }
    value = static_cast<std::uint32_t>(number);
  }
  template <class T>
  void get(const char* name, std::optional<T>& value) {
    if (has(name)) {
      value.emplace();
      get(name, *value);
    }
  }
  void get(const char* name, figure::Interval& value) {
    if (!has(name)) {
      return;
    }
    const json& pair = object_.at(name);
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number() || !pair[1].is_number()) {
      fail(where_ + "." + name, "two numbers", pair);
      return;
    }
    value = {pair[0].get<double>(), pair[1].get<double>()};
  }
  // A word that `parse` understands.
  template <class Parse>
  void get_word(const char* name, const char* expected, Parse parse) {
    std::string word;
    get(name, word);
    if (has(name) && !error_ && !parse(word)) {
      error_ = bad_input(where_ + "." + name + ": expected " + expected + ", found \"" + word + "\"");
    }
  }
  Reader object(const char* name) const { return {object_.at(name), where_ + "." + name, error_}; }
  template <class Each>
  void each(const char* name, Each use) {
    if (!has(name)) {
      return;
    }
    const json& list = object_.at(name);
    if (!list.is_array()) {
      fail(where_ + "." + name, "a list", list);
      return;
    }
    for (std::size_t n = 0; n < list.size() && !error_; ++n) {
      use(Reader(list[n], where_ + "." + name + "[" + std::to_string(n) + "]", error_));
    }
  }
  const json& raw() const { return object_; }
  void fail(const std::string& where, const std::string& expected, const json& found) {
    if (!error_) {
      error_ = bad_input(where + ": expected " + expected + ", found " + found.type_name());
    }
  }
  void fail(const Error& error) { error_ = error_ ? error_ : error; }
  const std::string& where() const { return where_; }

 private:
  template <class T>
  void read(const char* name, const char* expected, bool (json::*is)() const noexcept, T& value) {
    if (!has(name)) {
      return;
    }
    const json& field = object_.at(name);
    if (!(field.*is)()) {
      fail(where_ + "." + name, expected, field);
      return;
    }
    value = field.get<T>();
  }

  const json& object_;
  std::string where_;
  std::optional<Error>& error_;
};

Settings read_settings(Reader reader) {
  Settings settings;
  if (!reader.raw().is_object()) {
    return settings;
  }
  for (const auto& [name, value] : reader.raw().items()) {
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
  }
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
    const Reader inner = reader.object("options");
    for (const auto& [view, unused] : inner.raw().items()) {
      state.options[view] = read_settings(inner.object(view.c_str()));
    }
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
      value = (folder / *word).lexically_normal();
    }
  };
  path("image", input.image);
  path("pixels", input.pixels);
  if (reader.has("ids")) {
    const json& ids = reader.raw().at("ids");
    input.ids.emplace();
    for (const json& id : ids) {
      if (!id.is_number_integer()) {
        reader.fail(reader.where() + ".ids", "whole numbers", id);
        break;
      }
      input.ids->push_back(id.get<std::int64_t>());
    }
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
  entry.path = (folder / path).lexically_normal();
  return entry;
}

}  // namespace

std::string to_json(const Session& session, const std::filesystem::path& folder) {
  json object{{"locus", kFormat}, {"input", to_json(session.input, folder)}, {"state", to_json(session.state)}};
  object["checkpoints"] = json::array();
  for (const CheckpointEntry& entry : session.checkpoints) {
    object["checkpoints"].push_back(to_json(entry, folder));
  }
  object["bookmarks"] = json::array();
  for (const Bookmark& bookmark : session.bookmarks) {
    json each{{"name", bookmark.name}, {"state", to_json(bookmark.state)}};
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

Status save_session(const Session& session, const std::filesystem::path& path) {
  return write_file(path, to_json(session, path.parent_path().empty() ? "." : path.parent_path()));
}

Result<Session> load_session(const std::filesystem::path& path) {
  LOCUS_TRY(const std::string text, read_file(path, kLongestFile));
  LOCUS_TRY(const json document, parse_json(text, path.string()));
  return parse_session(document, path.string(), std::filesystem::absolute(path).parent_path());
}

Result<Session> parse_session(const json& document, const std::string& file, const std::filesystem::path& folder) {
  std::optional<Error> error;
  Reader reader(document, "session", error);
  std::string format;
  reader.get("locus", format);
  if (!error && format != kFormat) {
    return bad_input("expected a session (\"locus\": \"" + std::string(kFormat) + "\"), found \"" + format + "\"",
                     file);
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

std::string label_of(const models::Overrides& overrides) {
  std::string label;
  if (overrides.rope_base) {
    label += " base " + to_text(SettingValue(*overrides.rope_base));
  }
  if (!overrides.rope_scaling.empty()) {
    label += " " + overrides.rope_scaling;
  }
  return label;
}

bool is_session(const std::filesystem::path& path) {
  return path.filename().string().ends_with(".locus.json");
}

}  // namespace locus::workbench
