#include "models/checkpoint/config.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "core/base/atomic_file.h"
#include "core/base/shown.h"
#include "models/json/config_value.h"

namespace locus::checkpoint {

namespace {

constexpr std::size_t kJsonLimit = 64U << 20U;
constexpr std::size_t kYamlLimit = 1U << 20U;

using List = ConfigValue::List;
using Object = ConfigValue::Object;

const ConfigValue* field(const Object& object, std::string_view name) {
  const auto found = std::find_if(object.begin(), object.end(), [&](const auto& each) { return each.first == name; });
  return found == object.end() ? nullptr : &found->second;
}

bool is_null(const ConfigValue& value) {
  return std::holds_alternative<std::monostate>(value.value);
}

std::optional<double> as_number(const ConfigValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value.value)) {
    return static_cast<double>(*integer);
  }
  const auto* number = std::get_if<double>(&value.value);
  return number != nullptr ? std::optional<double>(*number) : std::nullopt;
}

std::optional<std::int64_t> as_integer(const ConfigValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value.value)) {
    return *integer;
  }
  const auto* number = std::get_if<double>(&value.value);
  if (number != nullptr && std::nearbyint(*number) == *number && std::abs(*number) < 0x1p53) {
    return static_cast<std::int64_t>(*number);
  }
  return std::nullopt;
}

template <class T>
std::optional<T> as(const ConfigValue& value) {
  const T* held = std::get_if<T>(&value.value);
  return held != nullptr ? std::optional<T>(*held) : std::nullopt;
}

// A list of which every element converts.
template <class T, class Convert>
std::optional<std::vector<T>> as_list(const ConfigValue& value, const Convert& convert) {
  const List* list = std::get_if<List>(&value.value);
  if (list == nullptr) {
    return std::nullopt;
  }
  std::vector<T> values;
  values.reserve(list->size());
  for (const ConfigValue& each : *list) {
    const std::optional<T> one = convert(each);
    if (!one) {
      return std::nullopt;
    }
    values.push_back(*one);
  }
  return values;
}

Result<ConfigValue> read(std::string_view text, const std::string& file, bool yaml) {
  const std::size_t limit = yaml ? kYamlLimit : kJsonLimit;
  if (text.size() > limit) {
    return bad_input("expected at most " + std::to_string(limit) + " bytes, found " + std::to_string(text.size()),
                     file);
  }
  ConfigBuilder builder;
  const auto add = [&](const JsonEvent& event) { return builder.add(event); };
  const Status status = yaml ? read_yaml(text, kConfigLimits, add) : read_json(text, kConfigLimits, add);
  if (!status.ok()) {
    return status.error().within(file);
  }
  ConfigValue value = builder.finish();
  if (!std::holds_alternative<Object>(value.value)) {
    return bad_input("expected an object, found " + value.describe(), file);
  }
  return value;
}

bool may_be_yaml(const std::filesystem::path& path) {
  return path.extension() == ".yaml" || path.extension() == ".yml" || path.filename() == "pe_config.json";
}

}  // namespace

Config::Config() : Config(std::make_shared<const ConfigValue>(ConfigValue{Object{}}), "", "") {}

Config::Config(std::shared_ptr<const ConfigValue> value, std::string file, std::string prefix)
    : value_(std::move(value)), file_(std::move(file)), prefix_(std::move(prefix)) {}

Result<Config> Config::parse_json(std::string_view text, const std::string& file) {
  LOCUS_TRY(ConfigValue value, read(text, file, false));
  return Config(std::make_shared<const ConfigValue>(std::move(value)), file, "");
}

Result<Config> Config::parse_yaml(std::string_view text, const std::string& file) {
  // JSON first: YAML's own grammar of JSON is stricter about white space and slower.
  if (const std::size_t first = text.find_first_not_of(" \t\r\n");
      first != std::string_view::npos && text[first] == '{') {
    if (Result<Config> config = parse_json(text, file); config.ok()) {
      return config;
    }
  }
  LOCUS_TRY(ConfigValue value, read(text, file, true));
  return Config(std::make_shared<const ConfigValue>(std::move(value)), file, "");
}

Result<Config> Config::load(const std::filesystem::path& path) {
  const bool yaml = may_be_yaml(path);
  LOCUS_TRY(const std::string text, read_file(path, yaml ? kYamlLimit : kJsonLimit));
  return yaml ? parse_yaml(text, path.string()) : parse_json(text, path.string());
}

std::string Config::context(std::string_view path) const {
  return file_ + ": field " + prefix_ + shown(path);
}

const ConfigValue* Config::find(std::string_view path) const {
  const ConfigValue* value = value_.get();
  while (value != nullptr) {
    const Object* object = std::get_if<Object>(&value->value);
    if (object == nullptr) {
      return nullptr;
    }
    // A name may itself contain a dot.
    if (const ConfigValue* whole = field(*object, path)) {
      return is_null(*whole) ? nullptr : whole;
    }
    const std::size_t dot = path.find('.');
    if (dot == std::string_view::npos) {
      return nullptr;
    }
    value = field(*object, path.substr(0, dot));
    path.remove_prefix(dot + 1);
  }
  return nullptr;
}

bool Config::has_null(std::string_view path) const {
  const Object* const object = std::get_if<Object>(&value_->value);
  const ConfigValue* const own = object == nullptr ? nullptr : field(*object, path);
  return own != nullptr && is_null(*own);
}

bool Config::has(std::string_view path) const {
  return find(path) != nullptr;
}

std::vector<std::string> Config::names() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : std::get<Object>(value_->value)) {
    if (!is_null(value)) {
      names.push_back(name);
    }
  }
  return names;
}

std::string Config::kind(std::string_view path) const {
  const ConfigValue* value = find(path);
  if (value == nullptr) {
    return "nothing";
  }
  constexpr const char* kKinds[]{"nothing", "true or false", "number", "number", "text", "list", "object"};
  return kKinds[value->value.index()];
}

template <class T, class Convert>
Result<T> Config::get(std::string_view path, std::string_view expected, const Convert& convert) const {
  const ConfigValue* value = find(path);
  if (value == nullptr) {
    return bad_input("expected " + std::string(expected) + ", found none", context(path));
  }
  std::optional<T> converted = convert(*value);
  if (!converted) {
    return bad_input("expected " + std::string(expected) + ", found " + value->describe(), context(path));
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
  return get<bool>(path, "true or false", as<bool>);
}
Result<std::string> Config::text(std::string_view path) const {
  return get<std::string>(path, "a text", as<std::string>);
}

Result<std::vector<double>> Config::numbers(std::string_view path) const {
  return get<std::vector<double>>(path, "a list of numbers",
                                  [](const ConfigValue& value) { return as_list<double>(value, as_number); });
}
Result<std::vector<std::int64_t>> Config::integers(std::string_view path) const {
  return get<std::vector<std::int64_t>>(path, "a list of whole numbers", [](const ConfigValue& value) {
    return as_list<std::int64_t>(value, as_integer);
  });
}
Result<std::vector<std::string>> Config::texts(std::string_view path) const {
  return get<std::vector<std::string>>(
      path, "a list of texts", [](const ConfigValue& value) { return as_list<std::string>(value, as<std::string>); });
}

Result<Config> Config::object(std::string_view path) const {
  return get<Config>(path, "an object", [&](const ConfigValue& value) -> std::optional<Config> {
    if (!std::holds_alternative<Object>(value.value)) {
      return std::nullopt;
    }
    // The part keeps the whole alive.
    return Config({value_, &value}, file_, prefix_ + std::string(path) + ".");
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

}  // namespace locus::checkpoint
