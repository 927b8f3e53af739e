#include "app/session/session_json.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "app/session/portable.h"
#include "core/base/lists.h"
#include "models/remote/address.h"

namespace locus::session {

namespace {

using formats::Node;
using formats::Tree;

constexpr double kLargestWhole = 1e15;  // that a double counts exactly

// "scale.low" of an object: null where it is absent.
const Tree* find_path(const Tree& object, const std::string& path) {
  const Tree* found = &object;
  for (const std::string_view name : split(path, ".")) {
    found = found == nullptr ? nullptr : found->find(name);
  }
  return found;
}

Tree to_tree(std::size_t group, bool one_group, const SettingValue& value) {
  const auto* list = std::get_if<std::vector<double>>(&value);
  if (list == nullptr || one_group || group == 0) {
    return value;
  }
  Tree groups = Tree::list();
  for (std::size_t n = 0; n < list->size(); n += group) {
    Tree numbers = Tree::list();
    for (std::size_t m = n; m < std::min(n + group, list->size()); ++m) {
      const double number = (*list)[m];
      const bool whole = number == std::floor(number) && std::abs(number) < kLargestWhole;  // layers and heads
      numbers.push_back(whole ? Tree(static_cast<std::int64_t>(number)) : Tree(number));
    }
    groups.push_back(std::move(numbers));
  }
  return groups;
}

template <class State>
Tree fields_tree(const State& state, const std::vector<FieldOf<State>>& fields) {
  Tree object = Tree::object();
  for (const FieldOf<State>& field : fields) {
    const auto value = field.get(state);
    const std::optional<SettingValue> written = value ? value : field.unset;
    if (!written) {
      continue;
    }
    Tree* place = &object;
    for (const std::string_view name : split(field.parameter.name, ".")) {
      place = &(*place)[name];
    }
    *place = to_tree(field.group, field.one_group, *written);
  }
  return object;
}

// The value of a field of a file; of a list of groups, its numbers in one list. Empty: of another kind or size.
std::optional<SettingValue> value_in(const Tree& found, std::size_t group, bool one_group) {
  if (group == 0 || one_group) {
    return found.setting();
  }
  if (!found.is_list()) {
    return std::nullopt;
  }
  std::vector<double> numbers;
  for (const Tree& each : found.items()) {
    const auto value = each.setting();
    const auto* list = list_in(value);
    if (list == nullptr || list->size() != group) {
      return std::nullopt;
    }
    numbers.insert(numbers.end(), list->begin(), list->end());
  }
  return numbers;
}

template <class State>
Status read_field(const FieldOf<State>& field, const Tree& found, const std::string& name, State& state) {
  const bool grouped = field.group > 0 && !field.one_group;
  const auto value = value_in(found, field.group, field.one_group);
  if (!value) {
    const std::string groups = grouped ? "a list of groups of " + std::to_string(field.group) + " numbers" : "";
    return bad_input(name + ": expected " + (grouped ? groups : expected(field.parameter)) + ", found " + found.kind());
  }
  if (field.unset && found.template as<double>() == Tree(*field.unset).template as<double>()) {
    field.put(state, std::nullopt);
    return {};
  }
  return put_field(field, state, *value, name);
}

template <class State>
void read_fields(const Node& node, const std::vector<FieldOf<State>>& fields, State& state) {
  for (const FieldOf<State>& field : fields) {
    const std::string& name = field.parameter.name;
    const std::size_t dot = name.find('.');
    if (dot != std::string::npos && node.has(name.substr(0, dot))) {
      node.object(name.substr(0, dot));  // an error unless it is one
    }
    const Tree* found = find_path(node.value(), name);
    const Status read = found == nullptr ? Status() : read_field(field, *found, node.path() + "." + name, state);
    if (!read.ok()) {
      node.fail(bad_input(read.error().message, read.error().context));  // a usage error of a file is the file's
    }
  }
}

Settings read_settings(const Node& node) {
  Settings settings;
  node.each_field([&](const std::string& name, const Node& field) {
    auto value = field.value().is_list() ? std::nullopt : field.value().setting();
    if (value) {
      settings.set(name, *std::move(value));
    } else {
      field.fail("a number, a word, true or false");
    }
  });
  return settings;
}

// Paths as a file in a folder names them. Each is looked up once: many figures share few checkpoints.
PathName names_in(const std::filesystem::path& folder) {
  return [folder,
          known = std::make_shared<std::unordered_map<std::string, std::string>>()](const std::filesystem::path& path) {
    const auto found = known->find(path.native());
    return found != known->end() ? found->second
                                 : known->emplace(path.native(), relative_path(path, folder)).first->second;
  };
}

template <class T>
void put(const char* name, const std::optional<T>& value, Tree& object) {
  if (value) {
    object[name] = *value;
  }
}

}  // namespace

Tree to_tree(const models::Input& input, const PathName& name) {
  Tree object = Tree::object();
  put("text", input.text, object);
  put("ids", input.ids, object);
  for (const auto& [field, path] : {std::pair("image", &input.image), std::pair("pixels", &input.pixels)}) {
    if (path->has_value()) {
      object[field] = name(**path);
    }
  }
  for (const std::filesystem::path& image : input.images) {
    object["images"].push_back(name(image));
  }
  for (const std::filesystem::path& video : input.videos) {
    object["videos"].push_back(name(video));
  }
  put("video_fps", input.video_frames.fps, object);
  put("video_frames", input.video_frames.count, object);
  if (!input.picture.empty()) {
    object["picture"] = models::to_text(input.picture);
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

Tree to_tree(const CheckpointEntry& entry, const std::string& path, const PathName& name) {
  Tree object{{"path", path}, {"shown", entry.shown}};
  if (!entry.base.empty()) {
    object["base"] = remote::is_remote(entry.path.native()) ? entry.base.string() : name(entry.base);
  }
  put("rope_base", entry.overrides.rope_base, object);
  for (const auto& [field, words] : {std::pair("rope_scaling", &entry.overrides.rope_scaling),
                                     std::pair("rope_base_layers", &entry.overrides.rope_base_layers),
                                     std::pair("rope_scaling_layers", &entry.overrides.rope_scaling_layers)}) {
    if (!words->empty()) {
      object[field] = *words;
    }
  }
  if (entry.overrides.fast) {
    object["speed"] = "fast";
  }
  if (entry.overrides.stage != 0) {
    object["stage"] = entry.overrides.stage;
  }
  if (!entry.overrides.half.empty()) {
    object["half"] = entry.overrides.half;
  }
  put("text", entry.text, object);
  if (entry.own) {
    object["head"] = Tree::list({entry.own->layer, entry.own->head});
  }
  if (!entry.edits.empty()) {
    const auto written = Tree::parse(models::to_json(entry.edits), "edits");
    const Tree* edits = written.ok() ? written->find("edits") : nullptr;
    object["edits"] = edits != nullptr ? *edits : Tree::list();
  }
  return object;
}

Tree to_tree(const ViewState& state, const StateFields& fields) {
  Tree object = fields_tree(state, fields);
  for (const auto& [view, settings] : state.options) {
    object["options"][view] = settings;
  }
  return object;
}

Tree to_tree(const PaperState& paper) {
  return fields_tree(paper, paper_fields());
}

std::string to_json(const Session& session, const std::filesystem::path& folder, const StateFields& fields) {
  const PathName name = names_in(folder);
  const auto listed = [&name](const std::vector<CheckpointEntry>& entries) {
    Tree list = Tree::list();
    for (const CheckpointEntry& entry : entries) {
      list.push_back(to_tree(entry, name(entry.path), name));
    }
    return list;
  };
  Tree bookmarks = Tree::list();
  for (const Bookmark& bookmark : session.bookmarks) {
    Tree each{{"name", bookmark.name}, {"state", to_tree(bookmark.state, fields)}};
    if (!bookmark.about.empty()) {
      each["about"] = bookmark.about;
    }
    if (bookmark.input) {
      each["input"] = to_tree(*bookmark.input, name);
    }
    if (!bookmark.columns.empty()) {
      each["columns"] = listed(bookmark.columns);
    }
    bookmarks.push_back(std::move(each));
  }
  const Tree document{{"locus", kSessionFormat},
                      {"input", to_tree(session.input, name)},
                      {"state", to_tree(session.state, fields)},
                      {"checkpoints", listed(session.checkpoints)},
                      {"bookmarks", std::move(bookmarks)}};
  return document.dump(2, Tree::Order::kByName) + "\n";
}

ViewState read_state(const Node& node, const StateFields& fields) {
  ViewState state;
  read_fields(node, fields, state);
  if (node.has("options")) {
    node.object("options").each_field([&](const std::string& view, const Node& options) {
      options.expect_object();
      state.options[view] = read_settings(options);
    });
  }
  return state;
}

PaperState read_paper(const Node& node) {
  PaperState paper;
  read_fields(node, paper_fields(), paper);
  return paper;
}

}  // namespace locus::session
