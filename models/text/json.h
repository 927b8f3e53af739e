// JSON files of strangers: one document with bounded depth and memory, without duplicate keys.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace locus {

struct JsonLimits {
  int depth = 64;
  std::int64_t values = 4'000'000;  // strings, numbers, arrays, objects together
};

// The document. Errors, with `file` as context: kBadInput for malformed text, a key twice in one object, or deeper than
// the limit; kTooLarge for more values than the limit.
Result<nlohmann::json> parse_json(std::string_view text, const std::string& file, const JsonLimits& limits = {});

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
