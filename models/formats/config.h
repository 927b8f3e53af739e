// Config: a checkpoint's config.json (or a YAML file with the same content) as typed values.
//
// A field is named by its path from the object: "hidden_size", "rope_scaling.factor", "pretrained_cfg.mean". A field
// that is null counts as absent, as checkpoints use both. An error names file and field: "config.json: field
// rope_scaling.factor: expected a number, found the text "four"".
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace locus::formats {

// One object of a parsed file; copies share it.
class Config {
 public:
  // An object without fields.
  Config();

  // JSON text; `file` is for messages. Errors: kBadInput for text that is not one JSON object, a name twice in an
  // object, more than 64 levels, 1,000,000 values or 64 MiB.
  static Result<Config> parse_json(std::string_view text, const std::string& file);
  // YAML text of one mapping (JSON is accepted too), without anchors, aliases and tags; at most 1 MiB.
  static Result<Config> parse_yaml(std::string_view text, const std::string& file);
  // A JSON file; a file named *.yaml or *.yml, and pe_config.json, may be YAML.
  static Result<Config> load(const std::filesystem::path& path);

  const std::string& file() const { return file_; }
  // "FILE: field PATH", for the errors of callers.
  std::string context(std::string_view path) const;

  bool has(std::string_view path) const;
  // True where the field exists and is null, for the few fields where that differs from absent.
  bool has_null(std::string_view path) const;
  // True where `other` is absent or has the value of `path`; only then it counts as read.
  bool repeats(std::string_view path, std::string_view other) const;
  // Names of this object's own non-null fields, in the file's order.
  std::vector<std::string> names() const;
  // Paths of the non-null fields of the whole file that nothing has read, in the file's order; an object of which no
  // field was read counts as one. All copies and parts of a parsed file share this record.
  std::vector<std::string> unread() const;
  // What the fields are without their sizes: names, kinds, texts and truth values, "{a:number,b:text gelu,}", without
  // the fields of this object that `skipped` names. Nothing counts as read by it.
  std::string outline(const std::function<bool(const std::string& name)>& skipped) const;
  // "number", "text", "true or false", "list", "object"; "nothing" when absent.
  std::string kind(std::string_view path) const;

  // The value of a required field. Errors: kBadInput when it is absent or has another type. A number without fraction
  // is a whole number (4.0), and a whole number is a number.
  Result<std::int64_t> integer(std::string_view path) const;
  Result<double> number(std::string_view path) const;
  Result<bool> boolean(std::string_view path) const;
  Result<std::string> text(std::string_view path) const;
  Result<std::vector<double>> numbers(std::string_view path) const;
  Result<std::vector<std::int64_t>> integers(std::string_view path) const;
  Result<std::vector<std::string>> texts(std::string_view path) const;
  Result<std::vector<bool>> booleans(std::string_view path) const;
  Result<Config> object(std::string_view path) const;

  // The value of an optional field: `fallback` when it is absent, an error when it has another type.
  Result<std::int64_t> integer(std::string_view path, std::int64_t fallback) const;
  Result<double> number(std::string_view path, double fallback) const;
  Result<bool> boolean(std::string_view path, bool fallback) const;
  Result<std::string> text(std::string_view path, std::string_view fallback) const;

  // A whole number of at least `least` and at most `most`.
  Result<std::int64_t> integer_in(std::string_view path, std::int64_t least, std::int64_t most) const;

 private:
  struct Document;  // the parsed file, and the paths that were read

  Config(std::shared_ptr<const nlohmann::ordered_json> value, std::string file);
  const nlohmann::ordered_json* find(std::string_view path) const;
  const nlohmann::ordered_json* peek(std::string_view path) const;  // without marking the field as read
  template <class T, class Convert>
  Result<T> get(std::string_view path, std::string_view expected, const Convert& convert) const;

  std::shared_ptr<Document> document_;
  const nlohmann::ordered_json* value_ = nullptr;  // an object of the document
  std::string file_;
  std::string prefix_;  // of this object's fields in the file, "rope_scaling."
};

}  // namespace locus::formats
