// JSON documents as a tree, for files whose whole content is wanted: vocabularies, configurations.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/result.h"

namespace locus {

// The document, read through formats::read_json() with its limits: 64 levels, 4 million values and names, no name
// twice in an object. Errors: kBadInput with `file` as context.
Result<nlohmann::json> parse_json(std::string_view text, const std::string& file);

// The kinds that fields of a document have: what errors call them, and whether a value is of that kind, so that
// value.get<T>() is it.
template <class T>
struct JsonKind;
template <>
struct JsonKind<bool> {
  static constexpr const char* kName = "true or false";
  static bool is(const nlohmann::json& value) { return value.is_boolean(); }
};
template <>
struct JsonKind<std::int64_t> {
  static constexpr const char* kName = "a whole number";
  static bool is(const nlohmann::json& value);  // that 64 bits hold
};
template <>
struct JsonKind<double> {
  static constexpr const char* kName = "a number";
  static bool is(const nlohmann::json& value) { return value.is_number(); }
};
template <>
struct JsonKind<std::string> {
  static constexpr const char* kName = "a string";
  static bool is(const nlohmann::json& value) { return value.is_string(); }
};

// How errors show a value: cut by shown(); of a list, an object or bytes the kind alone.
std::string shown_value(const nlohmann::json& value);

// The value where it is a whole number of `least` … `most`.
std::optional<std::int64_t> whole_number(const nlohmann::json& value, std::int64_t least, std::int64_t most);

// A JSON object with the name its fields are reported under ("tokenizer.json: model"). Absent and null fields give the
// fallback; fields of another kind give kBadInput naming field, expected and found.
class JsonObject {
 public:
  static Result<JsonObject> of(const nlohmann::json& value, std::string where);

  const std::string& where() const { return where_; }
  const nlohmann::json& value() const { return *value_; }
  // Null when the field is absent or null.
  const nlohmann::json* find(const std::string& name) const;

  // A field of one of JsonKind's kinds; without a fallback an error also when it is absent.
  template <class T>
  Result<T> get(const std::string& name) const {
    const nlohmann::json* const field = find(name);
    return field != nullptr && JsonKind<T>::is(*field) ? Result<T>(field->get<T>()) : wrong(name, JsonKind<T>::kName);
  }
  template <class T>
  Result<T> get(const std::string& name, const T& fallback) const {
    return find(name) == nullptr ? Result<T>(fallback) : get<T>(name);
  }
  Result<bool> boolean(const std::string& name, bool fallback) const { return get(name, fallback); }
  Result<std::int64_t> integer(const std::string& name, std::int64_t fallback) const { return get(name, fallback); }
  Result<double> number(const std::string& name, double fallback) const { return get(name, fallback); }
  Result<std::string> text(const std::string& name, const std::string& fallback) const { return get(name, fallback); }
  // Errors also when the field is absent.
  Result<JsonObject> object(const std::string& name) const;
  // An empty array when absent.
  Result<const nlohmann::json*> array(const std::string& name) const;
  // "where: NAME: expected EXPECTED, found …".
  Error wrong(const std::string& name, const std::string& expected) const;

 private:
  JsonObject(const nlohmann::json& value, std::string where) : value_(&value), where_(std::move(where)) {}

  const nlohmann::json* value_;
  std::string where_;
};

}  // namespace locus
