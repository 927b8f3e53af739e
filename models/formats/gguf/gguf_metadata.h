// GgufMetadata: the named values at the front of a GGUF file (the model's sizes, its tokenizer's tables), stored in the
// mapped file. All of them were checked when the file was opened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace locus::formats {

// The types of values, by their number in the file.
enum class GgufType : std::uint32_t {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kText = 8,
  kList = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12
};

// Bytes of a value of this type; 0 for texts and lists, which carry their length, and for unknown types.
std::size_t size_of(GgufType type);

struct GgufValue {
  GgufType type = GgufType::kU8;  // type of the items of a list
  bool list = false;
  std::uint64_t count = 1;
  std::span<const std::byte> bytes;  // bytes of the value, or of the items consecutively
};

class GgufMetadata {
 public:
  GgufMetadata(std::string file, std::shared_ptr<const void> owner)
      : file_(std::move(file)), owner_(std::move(owner)) {}

  // False where the name exists already.
  bool add(std::string_view name, const GgufValue& value) { return values_.emplace(name, value).second; }
  const std::map<std::string, GgufValue, std::less<>>& values() const { return values_; }

  const std::string& file() const { return file_; }
  bool has(std::string_view name) const { return find(name) != nullptr; }
  // Null where the name does not exist.
  const GgufValue* find(std::string_view name) const;

  // The value of this name; empty where it does not exist. Errors: kBadInput naming file, name, expected and found, for
  // a value of another type, and for a whole number that does not fit. Texts live as long as the metadata.
  Result<std::optional<std::int64_t>> integer(std::string_view name) const;
  Result<std::optional<double>> number(std::string_view name) const;
  Result<std::optional<bool>> boolean(std::string_view name) const;
  Result<std::optional<std::string_view>> text(std::string_view name) const;
  // Empty where the name does not exist.
  Result<std::vector<bool>> booleans(std::string_view name) const;
  Result<std::vector<std::int64_t>> integers(std::string_view name) const;
  Result<std::vector<double>> numbers(std::string_view name) const;
  Result<std::vector<std::string_view>> texts(std::string_view name) const;

  // "FILE: metadata NAME", the context of an error.
  std::string context(std::string_view name) const;

 private:
  Error wrong(std::string_view name, const std::string& expected, const GgufValue& found) const;

  std::string file_;
  std::shared_ptr<const void> owner_;  // of the bytes
  std::map<std::string, GgufValue, std::less<>> values_;
};

}  // namespace locus::formats
