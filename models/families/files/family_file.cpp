#include "models/families/files/family_file.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "core/base/shown.h"
#include "models/families/files/file_encodings.h"
#include "models/families/files/layer_rules.h"
#include "models/families/files/rows.h"
#include "models/families/files/value.h"
#include "models/transformer/transformer.h"

namespace locus::families {

namespace {

using formats::Node;
using formats::Tree;

// A text that lives as long as the program, as those of the families in the program do.
const std::string& kept(const std::string& text) {
  static std::mutex mutex;
  static std::set<std::string, std::less<>> texts;
  const std::lock_guard lock(mutex);
  return *texts.insert(text).first;
}

std::vector<std::string_view> spellings(const std::string& names) {
  std::vector<std::string_view> list;
  const std::string_view all = kept(names);
  for (std::size_t begin = 0; begin <= all.size();) {
    const std::size_t end = std::min(all.find('|', begin), all.size());
    list.push_back(kept(std::string(all.substr(begin, end - begin))));
    begin = end + 1;
  }
  return list;
}

bool of_name(const std::string& name) {
  return !name.empty() && name.size() <= 64 &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == name.npos;
}

// ---- values

// Forgets what is inherited for a property.
void forget_property(Family& family, const Property& property) {
  std::erase_if(family.steps, [&](const Family::Step& step) { return step.property == property.name; });
  if (const Slot* const slot = property.slot()) {
    std::erase_if(family.fields, [&](const Field& field) { return field.slot == *slot; });
  }
}

// Forgets what is inherited about a field of the config.
void forget_fields(Family& family, const std::vector<std::string_view>& names) {
  for (const std::string_view name : names) {
    std::erase_if(family.fields, [&](const Field& field) {
      return std::find(field.names.begin(), field.names.end(), name) != field.names.end();
    });
    std::erase_if(family.fixed_fields, [&](const FixedField& field) { return field.name == name; });
    std::erase(family.refused, name);
  }
}

const Property* property_of(const Node& node, const std::string& name) {
  const Property* const property = find_property(name);
  if (property == nullptr) {
    node.fail(bad_input(node.path() + ": expected a slot, found " + shown(name) + "; `locus help families` has all"));
  }
  return property;
}

// A constant of another kind than the property is an error of the file.
void check_constant(const Node& node, const Property& property, const Value& value) {
  if (!value.constant()) {
    return;
  }
  Draft draft;
  const Result<SettingValue> constant = value.of(Config());
  const Status set = constant.ok() ? set_property(property, *constant, node.path(), draft) : Status(constant.error());
  if (!set.ok()) {
    node.fail(set.error());
  }
}

void read_set(const Node& node, std::set<std::string>& named, Family& family) {
  node.expect_object();
  node.each_field([&](const std::string& name, const Node& item) {
    const Property* const property = property_of(item, name);
    if (property == nullptr) {
      return;
    }
    Value value = Value::read(item);
    check_constant(item, *property, value);
    named.insert(name);
    forget_property(family, *property);
    family.steps.push_back({property->name, [property, value](const Config& config, Draft& draft) -> Status {
                              LOCUS_TRY(const SettingValue set, value.of(config));
                              return set_property(*property, set, value.place(), draft);
                            }});
  });
}

// The default of a field, where it is one that the engine's tables can hold.
std::optional<Fallback> fallback_of(const Slot& slot, const std::optional<Value>& value) {
  if (!value) {
    return Fallback();
  }
  const Result<SettingValue> held = value->constant() ? value->of(Config()) : Result<SettingValue>(internal(""));
  if (!held.ok()) {
    return std::nullopt;
  }
  if (const auto* const word = std::get_if<std::string>(&*held)) {
    const bool number = slot.index() == 0;
    return *word == "follows" && number ? Fallback(kFollows) : Fallback(kept(*word).c_str());
  }
  if (const auto* const flag = std::get_if<bool>(&*held)) {
    return Fallback(*flag);
  }
  if (const auto* const whole = std::get_if<std::int64_t>(&*held)) {
    return slot.index() == 1 ? Fallback(static_cast<double>(*whole)) : Fallback(*whole);
  }
  const auto* const number = std::get_if<double>(&*held);
  return number == nullptr ? std::optional<Fallback>() : Fallback(*number);
}

using Words = std::vector<std::pair<std::string, Value>>;

// Reads a field whose values have other words here, whose default is a formula, or whose property is a choice.
Family::Step step_of(const Property& property, const std::vector<std::string_view>& names,
                     const std::optional<Value>& absent, const Words& words) {
  return {property.name, [&property, names, absent, words](const Config& config, Draft& draft) -> Status {
            const std::string_view name = spelled(config, names);
            for (const std::string_view other : names) {
              config.repeats(name, other);
            }
            const std::string where = config.context(name);
            SettingValue value;
            const std::string kind = config.kind(name);
            if (kind == "nothing" && absent) {
              LOCUS_TRY(value, absent->of(config));
              return set_property(property, value, absent->place(), draft);
            }
            if (kind == "true or false") {
              LOCUS_TRY(value, config.boolean(name));
            } else if (kind == "number") {
              const Result<std::int64_t> whole = config.integer(name);
              if (whole.ok()) {
                value = *whole;
              } else {
                LOCUS_TRY(value, config.number(name));
              }
            } else {
              LOCUS_TRY(value, config.text(name));
            }
            if (words.empty()) {
              return set_property(property, value, where, draft);
            }
            const std::string said = to_text(value);
            const auto found =
                std::find_if(words.begin(), words.end(), [&](const auto& each) { return each.first == said; });
            if (found == words.end()) {
              std::string known;
              for (const auto& each : words) {
                known += (known.empty() ? "" : ", ") + each.first;
              }
              return unsupported("expected one of " + known + ", found " + shown(said), where);
            }
            LOCUS_TRY(const SettingValue meant, found->second.of(config));
            return set_property(property, meant, where, draft);
          }};
}

// ["slot", default, {word: value}].
struct FileField {
  std::string slot;
  std::optional<Value> absent;
  Words words;
};

bool is_formula(const Node& node) {
  constexpr std::array<const char*, 7> kFormulas{"field", "sqrt", "inverse", "plus", "times", "over", "multiple"};
  return std::any_of(kFormulas.begin(), kFormulas.end(), [&](const char* name) { return node.has(name); });
}

FileField read_field(const Node& node) {
  FileField field;
  if (!node.value().is_list()) {
    node.read(field.slot);
    return field;
  }
  std::size_t n = 0;
  node.each([&](const Node& item) {
    const bool words = item.value().is_object() && !is_formula(item);
    if (n == 0) {
      item.read(field.slot);
    } else if (words && n + 1 == node.value().items().size()) {
      item.each_field(
          [&](const std::string& word, const Node& value) { field.words.emplace_back(word, Value::read(value)); });
    } else if (n == 1) {
      field.absent = Value::read(item);
    } else {
      item.fail("a slot, a default and words");
    }
    ++n;
  });
  return field;
}

void add_field(const Node& item, const std::vector<std::string_view>& names, std::set<std::string>& named,
               Family& family) {
  const FileField field = read_field(item);
  const Property* const property = property_of(item, field.slot);
  if (property == nullptr) {
    return;
  }
  if (!named.insert(field.slot).second) {
    item.fail(bad_input(item.path() + ": expected each slot once, found " + shown(field.slot) + " again"));
    return;
  }
  if (field.absent) {
    check_constant(item, *property, *field.absent);
  }
  for (const auto& [word, value] : field.words) {
    check_constant(item, *property, value);
  }
  forget_property(family, *property);
  const Slot* const engine = property->slot();
  const std::optional<Fallback> fallback =
      engine == nullptr || !field.words.empty() ? std::nullopt : fallback_of(*engine, field.absent);
  if (fallback) {
    family.fields.push_back({names, *engine, *fallback});
  } else {
    family.steps.push_back(step_of(*property, names, field.absent, field.words));
  }
}

void read_fields(const Node& node, std::set<std::string>& named, Family& family) {
  node.expect_object();
  std::set<std::string_view> seen;
  node.each_field([&](const std::string& key, const Node& item) {
    const std::vector<std::string_view> names = spellings(key);
    for (const std::string_view name : names) {
      if (name.empty() || !seen.insert(name).second) {
        item.fail(bad_input(item.path() + ": expected each field once, found " + shown(name)));
        return;
      }
    }
    forget_fields(family, names);
    if (item.value().is_null()) {
      return;
    }
    const bool several =
        item.value().is_list() && !item.value().items().empty() && item.value().items().front().is_list();
    if (several) {
      item.each([&](const Node& each) { add_field(each, names, named, family); });
    } else {
      add_field(item, names, named, family);
    }
  });
}

// ---- settled fields, and what is without effect

std::optional<FixedValue> fixed_value(const Node& node) {
  if (const auto flag = node.value().as<bool>()) {
    return FixedValue(*flag);
  }
  if (const auto number = node.value().as<double>()) {
    return FixedValue(*number);
  }
  if (const auto word = node.value().as<std::string>()) {
    return FixedValue(kept(*word).c_str());
  }
  node.fail("a number, a word, true or false");
  return std::nullopt;
}

void read_settled(const Node& node, Family& family) {
  node.expect_object();
  node.each_field([&](const std::string& key, const Node& item) {
    for (const std::string_view name : spellings(key)) {
      forget_fields(family, {name});
      FixedField field{name, {}};
      const auto add = [&](const Node& value) {
        if (const auto fixed = fixed_value(value)) {
          field.values.push_back(*fixed);
        }
      };
      if (item.value().is_list()) {
        item.each(add);
      } else if (!item.value().is_null()) {
        add(item);
      }
      family.fixed_fields.push_back(std::move(field));
    }
  });
}

std::vector<std::string_view> read_names(const Node& node) {
  std::vector<std::string> names;
  node.read(names);
  std::vector<std::string_view> list;
  for (const std::string& name : names) {
    list.push_back(kept(name));
  }
  return list;
}

// ---- names of tensors

void read_tensors(const Node& root, Family& family) {
  std::vector<FileRow> rows;
  std::vector<FileRow> head;
  if (root.has("tensors")) {
    rows = read_rows(root.field("tensors"));
  }
  if (root.has("head") && root.field("head").value().is_object()) {
    head = read_rows(root.field("head"));
  } else if (root.has("head")) {
    bool flag = true;
    root.get("head", flag);
    if (flag) {
      root.field("head").fail("false, or rows of the head");
    }
    family.outside.clear();
    family.steps.push_back({"head", [](const Config&, Draft& draft) {
                              draft.spec.head = false;
                              return Status();
                            }});
  }
  std::vector<FileRow> all = rows;
  all.insert(all.end(), head.begin(), head.end());
  if (const std::string twice = named_twice(all); !twice.empty()) {
    root.fail(bad_input(root.path() + ".tensors: expected one row for each parameter, found two for " + twice));
  }
  replace_rows(rows, family.names, family.outside);
  replace_rows(head, family.outside, family.names);
  if (root.has("prefixes")) {
    family.prefixes = read_names(root.field("prefixes"));
  }
  const auto embedding = std::find_if(family.names.begin(), family.names.end(), [](const Name& row) {
    return row.parameter == "embedding.weight" || row.parameter == "embedding";
  });
  if (embedding != family.names.end()) {
    family.anchor = kept(embedding->parameter == "embedding" ? embedding->tensor + ".weight" : embedding->tensor);
  }
  if (root.has("skip")) {
    for (const std::string_view ending : read_names(root.field("skip"))) {
      family.skipped.emplace_back(ending);
    }
  }
}

// ---- encodings and layers

struct Rules {
  std::vector<FileEncoding> encodings;
  std::vector<std::string> names;
  std::vector<RuleGroup> layers;
  std::string further;  // the field with the number of layers behind the last, which predict further tokens
};

// Skips the tensors of layers behind the last one.
Status skip_further(const std::string& field, const Config& config, Plan& plan) {
  constexpr std::int64_t kMaxFurther = 16;
  const std::string own = spelling(config, field);
  LOCUS_TRY(const std::int64_t further, integer_or(config, own, 0, 0));
  const std::vector<transformer::Binding> bindings = plan.bindings("layers.0.attention.output.weight");
  const std::size_t number = bindings.empty() ? std::string::npos : bindings.front().tensor.find(".0.");
  if (further > kMaxFurther || (further > 0 && number == std::string::npos)) {
    return bad_input("expected at most " + std::to_string(kMaxFurther) + ", found " + std::to_string(further),
                     config.context(own));
  }
  for (std::int64_t n = 0; n < further; ++n) {
    const std::string before = bindings.front().tensor.substr(0, number + 1);
    plan.skipped.push_back(layer_prefix(before, plan.spec.depth() + n) + "*");
  }
  return {};
}

void read_rules(const Node& root, Family& family) {
  Rules rules;
  const bool own = root.has("encodings");
  if (own) {
    rules.encodings = read_file_encodings(root.field("encodings"));
    for (const FileEncoding& encoding : rules.encodings) {
      rules.names.push_back(encoding.name);
    }
  }
  if (root.has("layers")) {
    rules.layers = read_layer_rules(root.field("layers"), rules.names);
  }
  root.get("further", rules.further);
  if (!own && rules.layers.empty() && rules.further.empty()) {
    return;
  }
  // Encodings take the place of an inherited function; layer rules alone follow it.
  family.finish = [rules = std::move(rules), inherited = own ? nullptr : family.finish](
                      const CheckpointFiles& checkpoint, Plan& plan) -> Status {
    if (inherited) {
      LOCUS_CHECK(inherited(checkpoint, plan));
    }
    if (!rules.encodings.empty()) {
      LOCUS_CHECK(apply_file_encodings(rules.encodings, checkpoint.config, plan));
    }
    if (!rules.further.empty()) {
      LOCUS_CHECK(skip_further(rules.further, checkpoint.config, plan));
    }
    return apply_layer_rules(rules.layers, rules.names, checkpoint.config, plan.spec);
  };
}

void check_keys(const Node& root) {
  static const std::set<std::string, std::less<>> kKeys{
      "family", "name",    "types",    "inherits", "replaces", "note",   "set",  "fields", "encodings",
      "layers", "tensors", "prefixes", "head",     "settled",  "ignore", "skip", "further"};
  root.each_field([&](const std::string& key, const Node& value) {
    if (kKeys.count(key) == 0) {
      value.fail(bad_input(value.path() + ": expected a key of a family file, found " + shown(key) +
                           "; `locus help families` has all"));
    }
  });
}

void read_head_of_file(const Node& root, std::string& name, std::string& inherits, std::vector<std::string>& types,
                       bool& replaces) {
  root.expect_object();
  check_keys(root);
  std::int64_t version = 0;
  root.get("family", version);
  if (version != 1) {
    root.fail(bad_input(root.path() + ".family: expected 1, the version of the format, found " +
                        (root.has("family") ? root.field("family").value().shown() : "nothing")));
  }
  root.get("name", name);
  if (!of_name(name)) {
    root.fail(bad_input(root.path() + ".name: expected letters, digits, '-', '_' and '.', found " + shown(name)));
  }
  root.get("inherits", inherits);
  root.get("replaces", replaces);
  std::string note;
  root.get("note", note);
  if (root.has("types")) {
    root.field("types").read(types);
    for (const std::string& type : types) {
      if (!of_name(type)) {
        root.field("types").fail("names of model types");
      }
    }
  } else {
    types = {name};
  }
}

// ---- a trial

// A small value for a field that has no default.
std::optional<SettingValue> trial_value(const Field& field) {
  if (const auto* const number = std::get_if<std::int64_t& (*)(Draft&)>(&field.slot)) {
    static const std::vector<std::pair<std::string_view, std::int64_t>> kSizes{
        {"layers", 2}, {"heads", 2}, {"kv_heads", 2}, {"head_width", 4}, {"experts", 4}, {"chosen_experts", 2}};
    for (const auto& [name, size] : kSizes) {
      const Property* const property = find_property(name);
      if (property != nullptr && *property->slot() == Slot(*number)) {
        return SettingValue(size);
      }
    }
    return SettingValue(std::int64_t{8});
  }
  return std::nullopt;
}

// The first parameter of a small model of this family that no row names; "" where there is none, or where no such model
// can be made without a config.
std::string unnamed_parameter(const Family& family) {
  Settings fields;
  for (const Field& field : family.fields) {
    if (std::holds_alternative<std::monostate>(field.fallback)) {
      if (const auto value = trial_value(field)) {
        fields.set(std::string(field.names.front()), *value);
      }
    }
  }
  const Result<Config> config = Config::parse_json(Tree(fields).dump(-1, Tree::Order::kAsAdded), "config.json");
  CheckpointFiles none;
  if (!config.ok()) {
    return {};
  }
  none.config = *config;
  const Result<Plan> plan = read_table(family, none, *config);
  if (!plan.ok() || !plan->encoder.empty()) {
    return {};
  }
  const auto made = transformer::Transformer::create(plan->spec, false);
  if (!made.ok()) {
    return {};
  }
  for (const transformer::Parameter& parameter : (*made)->parameters()) {
    if (plan->bindings(parameter.name).empty()) {
      return named_by_pattern(parameter.name);
    }
  }
  return {};
}

Error refused(const Error& error) {
  return unsupported(error.message, error.context);
}

}  // namespace

Result<Family> read_family_draft(std::string_view text, const std::string& file, const Inherited& inherited) {
  if (text.size() > kFamilyFileLimit) {
    return unsupported("expected at most " + std::to_string(kFamilyFileLimit >> 10) + " KB, found " +
                           std::to_string(text.size()) + " bytes",
                       file);
  }
  const Result<Tree> tree = Tree::parse(text, file);
  if (!tree.ok()) {
    return refused(tree.error());
  }
  std::optional<Error> error;
  const Node root(*tree, file + ": $", error);
  std::string name;
  std::string inherits;
  std::vector<std::string> types;
  bool replaces = false;
  read_head_of_file(root, name, inherits, types, replaces);
  if (error) {
    return refused(*error);
  }
  Family family;
  if (!inherits.empty()) {
    const Result<const Family*> base = inherited(inherits);
    if (!base.ok()) {
      return refused(base.error().within(file + ": $.inherits"));
    }
    family = **base;
    if (family.levels >= kFamilyLevels) {
      return unsupported("expected at most " + std::to_string(kFamilyLevels) + " levels, found more",
                         file + ": $.inherits");
    }
  }
  ++family.levels;
  family.name = kept(name);
  family.file = kept(file);
  family.replaces = replaces;
  family.recognises = nullptr;
  family.write_encoding = nullptr;
  family.architecture = {};
  family.types.clear();
  for (const std::string& type : types) {
    family.types.push_back(kept(type));
  }
  std::set<std::string> named;
  if (root.has("set")) {
    read_set(root.field("set"), named, family);
  }
  if (root.has("fields")) {
    read_fields(root.field("fields"), named, family);
  }
  if (root.has("settled")) {
    read_settled(root.field("settled"), family);
  }
  if (root.has("ignore")) {
    const std::vector<std::string_view> ignored = read_names(root.field("ignore"));
    family.harmless.insert(family.harmless.end(), ignored.begin(), ignored.end());
  }
  read_tensors(root, family);
  read_rules(root, family);
  if (error) {
    return refused(*error);
  }
  if (family.prefixes.empty()) {
    family.prefixes = {""};
  }
  return family;
}

Result<Family> read_family_file(std::string_view text, const std::string& file, const Inherited& inherited) {
  LOCUS_TRY(Family family, read_family_draft(text, file, inherited));
  if (const std::string parameter = unnamed_parameter(family); !parameter.empty()) {
    return unsupported("$.tensors: expected a row for parameter " + parameter + ", found none", file);
  }
  return family;
}

}  // namespace locus::families
