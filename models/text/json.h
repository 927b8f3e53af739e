// JSON documents as a tree, for files whose whole content is wanted: vocabularies, configurations.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace locus {

// The document, read through checkpoint::read_json() with its limits: 64 levels, 4 million values and names, no name
// twice in an object. Errors: kBadInput with `file` as context.
Result<nlohmann::json> parse_json(std::string_view text, const std::string& file);

// A JSON object with the name its fields are reported under ("tokenizer.json: model"). Absent and null fields give the
// fallback; fields of another kind give kBadInput naming field, expected and found.
class JsonObject {
 public:
  static Result<JsonObject> of(const nlohmann::json& value, std::string where);

  const std::string& where() const { return where_; }
  const nlohmann::json& value() const { return *value_; }
  // Null when the field is absent or null.
  const nlohmann::json* find(const std::string& name) const;

  Result<bool> boolean(const std::string& name, bool fallback) const;
  Result<std::int64_t> integer(const std::string& name, std::int64_t fallback) const;
  Result<double> number(const std::string& name, double fallback) const;
  Result<std::string> text(const std::string& name, const std::string& fallback) const;
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
