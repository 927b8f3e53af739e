#include "models/formats/config.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "core/base/atomic_file.h"
#include "core/base/shown.h"
#include "models/formats/json/json_builder.h"

namespace locus::formats {

namespace {

constexpr std::size_t kJsonLimit = 64U << 20U;
constexpr std::size_t kYamlLimit = 1U << 20U;

using OrderedJson = nlohmann::ordered_json;

constexpr JsonLimits kConfigLimits{.depth = 64, .nodes = 1'000'000};

// Description of a value for errors: "the number 4", "a list", "null", …
std::string describe(const OrderedJson& value) {
  return value.is_object()   ? "an object"
         : value.is_array()  ? "a list"
         : value.is_string() ? "the text \"" + shown(value.get_ref<const std::string&>(), 60) + "\""
         : value.is_number() ? "the number " + value.dump()
                             : value.dump();
}

const OrderedJson* field(const OrderedJson& object, std::string_view name) {
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

std::optional<double> as_number(const OrderedJson& value) {
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

// A number, or ±∞ as transformers writes it, which JSON has not: {"__float__": "Infinity"}.
std::optional<double> as_extended(const OrderedJson& value) {
  if (!value.is_object() || value.size() != 1 || !value.contains("__float__")) {
    return as_number(value);
  }
  const OrderedJson& word = value["__float__"];
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return word == "Infinity" ? std::optional(kInfinity) : word == "-Infinity" ? std::optional(-kInfinity) : std::nullopt;
}

std::optional<std::int64_t> as_integer(const OrderedJson& value) {
  const std::optional<double> number = as_number(value);
  const bool whole =
      value.is_number_integer() || (number && std::nearbyint(*number) == *number && std::abs(*number) < 0x1p53);
  return whole ? std::optional(value.get<std::int64_t>()) : std::nullopt;
}

std::optional<bool> as_boolean(const OrderedJson& value) {
  return value.is_boolean() ? std::optional(value.get<bool>()) : std::nullopt;
}

std::optional<std::string> as_text(const OrderedJson& value) {
  return value.is_string() ? std::optional(value.get<std::string>()) : std::nullopt;
}

// Converts every element of a list.
template <class T, class Convert>
std::optional<std::vector<T>> as_list(const OrderedJson& value, const Convert& convert) {
  if (!value.is_array()) {
    return std::nullopt;
  }
  std::vector<T> values;
  values.reserve(value.size());
  for (const OrderedJson& each : value) {
    const std::optional<T> one = convert(each);
    if (!one) {
      return std::nullopt;
    }
    values.push_back(*one);
  }
  return values;
}

Result<OrderedJson> read(std::string_view text, const std::string& file, bool yaml) {
  const std::size_t limit = yaml ? kYamlLimit : kJsonLimit;
  if (text.size() > limit) {
    return bad_input("expected at most " + std::to_string(limit) + " bytes, found " + std::to_string(text.size()),
                     file);
  }
  JsonBuilder<OrderedJson> builder;
  const auto add = [&](const JsonEvent& event) { return builder.add(event); };
  LOCUS_CHECK(within(yaml ? read_yaml(text, kConfigLimits, add) : read_json(text, kConfigLimits, add), file));
  OrderedJson value = builder.finish();
  if (!value.is_object()) {
    return bad_input("expected an object, found " + describe(value), file);
  }
  return value;
}

bool may_be_yaml(const std::filesystem::path& path) {
  return path.extension() == ".yaml" || path.extension() == ".yml" || path.filename() == "pe_config.json";
}

}  // namespace

struct Config::Document {
  std::shared_ptr<const OrderedJson> value;
  std::mutex mutex;  // models are opened by several threads, and copies of a config are free
  std::set<std::string, std::less<>> asked;

  void ask(std::string path) {
    const std::lock_guard lock(mutex);
    asked.insert(std::move(path));
  }
};

Config::Config() : Config(std::make_shared<const OrderedJson>(OrderedJson::object()), "") {}

Config::Config(std::shared_ptr<const OrderedJson> value, std::string file)
    : document_(std::make_shared<Document>()), value_(value.get()), file_(std::move(file)) {
  document_->value = std::move(value);
}

Result<Config> Config::parse_json(std::string_view text, const std::string& file) {
  LOCUS_TRY(OrderedJson value, read(text, file, false));
  return Config(std::make_shared<const OrderedJson>(std::move(value)), file);
}

Result<Config> Config::parse_yaml(std::string_view text, const std::string& file) {
  // JSON first: YAML's own grammar of JSON is stricter about white space and slower.
  if (const std::size_t first = text.find_first_not_of(" \t\r\n");
      first != std::string_view::npos && text[first] == '{') {
    if (Result<Config> config = parse_json(text, file); config.ok()) {
      return config;
    }
  }
  LOCUS_TRY(OrderedJson value, read(text, file, true));
  return Config(std::make_shared<const OrderedJson>(std::move(value)), file);
}

Result<Config> Config::load(const std::filesystem::path& path) {
  const bool yaml = may_be_yaml(path);
  LOCUS_TRY(const std::string text, read_file(path, yaml ? kYamlLimit : kJsonLimit));
  return yaml ? parse_yaml(text, path.string()) : parse_json(text, path.string());
}

std::string Config::context(std::string_view path) const {
  return file_ + ": field " + prefix_ + shown(path);
}

const OrderedJson* Config::find(std::string_view path) const {
  document_->ask(prefix_ + std::string(path));
  return peek(path);
}

const OrderedJson* Config::peek(std::string_view path) const {
  const OrderedJson* value = value_;
  while (value != nullptr && value->is_object()) {
    // A name may itself contain a dot.
    if (const OrderedJson* whole = field(*value, path)) {
      return whole->is_null() ? nullptr : whole;
    }
    const std::size_t dot = path.find('.');
    if (dot == std::string_view::npos) {
      return nullptr;
    }
    value = field(*value, path.substr(0, dot));
    path.remove_prefix(dot + 1);
  }
  return nullptr;
}

namespace {

// Appends the fields of `object` that were not read, neither themselves nor a part of them.
void add_unread(const OrderedJson& object, const std::string& prefix, const std::set<std::string, std::less<>>& asked,
                std::vector<std::string>& unread) {
  for (const auto& [name, value] : object.items()) {
    const std::string path = prefix + name;
    const auto part = asked.lower_bound(path + ".");
    const bool parts = part != asked.end() && part->starts_with(path + ".");
    if (value.is_object() && parts) {
      add_unread(value, path + ".", asked, unread);
    } else if (!value.is_null() && !parts && asked.count(path) == 0) {
      unread.push_back(path);
    }
  }
}

}  // namespace

std::vector<std::string> Config::unread() const {
  const std::lock_guard lock(document_->mutex);
  std::vector<std::string> unread;
  add_unread(*document_->value, "", document_->asked, unread);
  return unread;
}

bool Config::has_null(std::string_view path) const {
  document_->ask(prefix_ + std::string(path));
  const OrderedJson* const own = field(*value_, path);
  return own != nullptr && own->is_null();
}

bool Config::repeats(std::string_view path, std::string_view other) const {
  const OrderedJson* const first = peek(path);
  const OrderedJson* const second = peek(other);
  if (second != nullptr && (first == nullptr || *first != *second)) {
    return false;
  }
  document_->ask(prefix_ + std::string(other));
  return true;
}

bool Config::has(std::string_view path) const {
  return find(path) != nullptr;
}

std::vector<std::string> Config::names() const {
  document_->ask(prefix_.substr(0, prefix_.empty() ? 0 : prefix_.size() - 1));
  std::vector<std::string> names;
  for (const auto& [name, value] : value_->items()) {
    if (!value.is_null()) {
      names.push_back(name);
    }
  }
  return names;
}

namespace {

std::string outline_of(const OrderedJson& value) {
  if (value.is_object()) {
    std::string text = "{";
    for (const auto& [name, field] : value.items()) {
      text += field.is_null() ? "" : name + ":" + outline_of(field) + ",";
    }
    return text + "}";
  }
  if (value.is_array()) {  // each kind of item once
    std::set<std::string> items;
    for (const OrderedJson& item : value) {
      items.insert(outline_of(item));
    }
    std::string text = "[";
    for (const std::string& item : items) {
      text += item + ",";
    }
    return text + "]";
  }
  return value.is_number() ? "number" : value.is_string() ? "text " + value.get<std::string>() : value.dump();
}

}  // namespace

std::string Config::outline(const std::function<bool(const std::string& name)>& skipped) const {
  OrderedJson kept = OrderedJson::object();
  for (const auto& [name, field] : value_->items()) {
    if (!skipped(name)) {
      kept[name] = field;
    }
  }
  return outline_of(kept);
}

std::string Config::kind(std::string_view path) const {
  const OrderedJson* value = find(path);
  return value == nullptr      ? "nothing"
         : value->is_boolean() ? "true or false"
         : value->is_number()  ? "number"
         : value->is_string()  ? "text"
         : value->is_array()   ? "list"
                               : "object";
}

template <class T, class Convert>
Result<T> Config::get(std::string_view path, std::string_view expected, const Convert& convert) const {
  const OrderedJson* value = find(path);
  if (value == nullptr) {
    return bad_input("expected " + std::string(expected) + ", found none", context(path));
  }
  std::optional<T> converted = convert(*value);
  if (!converted) {
    return bad_input("expected " + std::string(expected) + ", found " + describe(*value), context(path));
  }
  return *std::move(converted);
}

Result<std::int64_t> Config::integer(std::string_view path) const {
  return get<std::int64_t>(path, "a whole number", as_integer);
}
Result<double> Config::number(std::string_view path) const {
  return get<double>(path, "a number", as_number);
}
Result<bool> Config::boolean(std::string_view path) const {
  return get<bool>(path, "true or false", as_boolean);
}
Result<std::string> Config::text(std::string_view path) const {
  return get<std::string>(path, "a text", as_text);
}

Result<std::vector<double>> Config::numbers(std::string_view path) const {
  return get<std::vector<double>>(path, "a list of numbers",
                                  [](const OrderedJson& value) { return as_list<double>(value, as_extended); });
}
Result<std::vector<std::int64_t>> Config::integers(std::string_view path) const {
  return get<std::vector<std::int64_t>>(path, "a list of whole numbers", [](const OrderedJson& value) {
    return as_list<std::int64_t>(value, as_integer);
  });
}
Result<std::vector<std::string>> Config::texts(std::string_view path) const {
  return get<std::vector<std::string>>(path, "a list of texts",
                                       [](const OrderedJson& value) { return as_list<std::string>(value, as_text); });
}
Result<std::vector<bool>> Config::booleans(std::string_view path) const {
  return get<std::vector<bool>>(path, "a list of true or false",
                                [](const OrderedJson& value) { return as_list<bool>(value, as_boolean); });
}

Result<Config> Config::object(std::string_view path) const {
  return get<Config>(path, "an object", [&](const OrderedJson& value) -> std::optional<Config> {
    if (!value.is_object()) {
      return std::nullopt;
    }
    Config part = *this;  // keeps the whole document alive
    part.value_ = &value;
    part.prefix_ += std::string(path) + ".";
    return part;
  });
}

Result<std::int64_t> Config::integer(std::string_view path, std::int64_t fallback) const {
  return has(path) ? integer(path) : fallback;
}
Result<double> Config::number(std::string_view path, double fallback) const {
  return has(path) ? number(path) : fallback;
}
Result<bool> Config::boolean(std::string_view path, bool fallback) const {
  return has(path) ? boolean(path) : fallback;
}
Result<std::string> Config::text(std::string_view path, std::string_view fallback) const {
  return has(path) ? text(path) : std::string(fallback);
}

Result<std::int64_t> Config::integer_in(std::string_view path, std::int64_t least, std::int64_t most) const {
  LOCUS_TRY(const std::int64_t value, integer(path));
  if (value < least || value > most) {
    return bad_input("expected a whole number from " + std::to_string(least) + " to " + std::to_string(most) +
                         ", found " + std::to_string(value),
                     context(path));
  }
  return value;
}

}  // namespace locus::formats
