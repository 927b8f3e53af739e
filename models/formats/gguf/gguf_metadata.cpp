#include "models/formats/gguf/gguf_metadata.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/base/shown.h"

namespace locus::formats {

namespace {

template <class T>
T value_at(std::span<const std::byte> bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

bool is_whole(GgufType type) {
  return type != GgufType::kF32 && type != GgufType::kF64 && type != GgufType::kBool && type != GgufType::kText &&
         type != GgufType::kList;
}

// None for an unsigned number beyond 63 bits.
std::optional<std::int64_t> whole_at(const GgufValue& value, std::size_t index) {
  switch (value.type) {
    case GgufType::kU8:
      return value_at<std::uint8_t>(value.bytes, index);
    case GgufType::kI8:
      return value_at<std::int8_t>(value.bytes, index);
    case GgufType::kU16:
      return value_at<std::uint16_t>(value.bytes, index);
    case GgufType::kI16:
      return value_at<std::int16_t>(value.bytes, index);
    case GgufType::kU32:
      return value_at<std::uint32_t>(value.bytes, index);
    case GgufType::kI32:
      return value_at<std::int32_t>(value.bytes, index);
    case GgufType::kI64:
      return value_at<std::int64_t>(value.bytes, index);
    case GgufType::kU64: {
      const auto large = value_at<std::uint64_t>(value.bytes, index);
      return large <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())
                 ? std::optional(static_cast<std::int64_t>(large))
                 : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

std::optional<double> number_at(const GgufValue& value, std::size_t index) {
  if (value.type == GgufType::kF32) {
    return static_cast<double>(value_at<float>(value.bytes, index));
  }
  if (value.type == GgufType::kF64) {
    return value_at<double>(value.bytes, index);
  }
  const std::optional<std::int64_t> whole = whole_at(value, index);
  return whole ? std::optional(static_cast<double>(*whole)) : std::nullopt;
}

std::string describe(const GgufValue& value) {
  static constexpr std::array<const char*, 13> kNames{"uint8",  "int8",    "uint16", "int16", "uint32",
                                                      "int32",  "float32", "bool",   "text",  "list",
                                                      "uint64", "int64",   "float64"};
  const std::string name = kNames[static_cast<std::size_t>(value.type)];
  return value.list ? "a list of " + std::to_string(value.count) + " " + name : name;
}

}  // namespace

std::size_t size_of(GgufType type) {
  static constexpr std::array<std::size_t, 13> kSizes{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  const auto index = static_cast<std::size_t>(type);
  return index < kSizes.size() ? kSizes[index] : 0;
}

const GgufValue* GgufMetadata::find(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

std::string GgufMetadata::context(std::string_view name) const {
  return file_ + ": metadata " + shown(name);
}

Error GgufMetadata::wrong(std::string_view name, const std::string& expected, const GgufValue& found) const {
  return bad_input("expected " + expected + ", found " + describe(found), context(name));
}

Result<std::optional<std::int64_t>> GgufMetadata::integer(std::string_view name) const {
  const GgufValue* value = find(name);
  if (value == nullptr) {
    return std::optional<std::int64_t>();
  }
  const std::optional<std::int64_t> whole = value->list ? std::nullopt : whole_at(*value, 0);
  return whole ? Result<std::optional<std::int64_t>>(whole) : wrong(name, "a whole number below 2^63", *value);
}

Result<std::optional<double>> GgufMetadata::number(std::string_view name) const {
  const GgufValue* value = find(name);
  if (value == nullptr) {
    return std::optional<double>();
  }
  const std::optional<double> number = value->list ? std::nullopt : number_at(*value, 0);
  if (!number || !std::isfinite(*number)) {
    return wrong(name, "a finite number", *value);
  }
  return number;
}

Result<std::optional<bool>> GgufMetadata::boolean(std::string_view name) const {
  const GgufValue* value = find(name);
  if (value == nullptr) {
    return std::optional<bool>();
  }
  if (value->list || value->type != GgufType::kBool) {
    return wrong(name, "true or false", *value);
  }
  return std::optional(value_at<std::uint8_t>(value->bytes, 0) != 0);
}

Result<std::optional<std::string_view>> GgufMetadata::text(std::string_view name) const {
  const GgufValue* value = find(name);
  if (value == nullptr) {
    return std::optional<std::string_view>();
  }
  if (value->list || value->type != GgufType::kText) {
    return wrong(name, "a text", *value);
  }
  return std::optional(std::string_view(reinterpret_cast<const char*>(value->bytes.data()), value->bytes.size()));
}

Result<std::vector<bool>> GgufMetadata::booleans(std::string_view name) const {
  std::vector<bool> booleans;
  const GgufValue* value = find(name);
  if (value == nullptr) {
    return booleans;
  }
  if (!value->list || value->type != GgufType::kBool) {
    return wrong(name, "a list of true and false", *value);
  }
  for (std::size_t n = 0; n < value->count; ++n) {
    booleans.push_back(value_at<std::uint8_t>(value->bytes, n) != 0);
  }
  return booleans;
}

Result<std::vector<std::int64_t>> GgufMetadata::integers(std::string_view name) const {
  std::vector<std::int64_t> integers;
  const GgufValue* value = find(name);
  if (value == nullptr) {
    return integers;
  }
  if (!value->list || !is_whole(value->type)) {
    return wrong(name, "a list of whole numbers", *value);
  }
  integers.reserve(value->count);
  for (std::size_t n = 0; n < value->count; ++n) {
    const std::optional<std::int64_t> whole = whole_at(*value, n);
    if (!whole) {
      return wrong(name, "whole numbers below 2^63", *value);
    }
    integers.push_back(*whole);
  }
  return integers;
}

Result<std::vector<double>> GgufMetadata::numbers(std::string_view name) const {
  std::vector<double> numbers;
  const GgufValue* value = find(name);
  if (value == nullptr) {
    return numbers;
  }
  if (!value->list || size_of(value->type) == 0 || value->type == GgufType::kBool) {
    return wrong(name, "a list of numbers", *value);
  }
  numbers.reserve(value->count);
  for (std::size_t n = 0; n < value->count; ++n) {
    numbers.push_back(number_at(*value, n).value_or(std::nan("")));
  }
  return numbers;
}

Result<std::vector<std::string_view>> GgufMetadata::texts(std::string_view name) const {
  std::vector<std::string_view> texts;
  const GgufValue* value = find(name);
  if (value == nullptr) {
    return texts;
  }
  if (!value->list || value->type != GgufType::kText) {
    return wrong(name, "a list of texts", *value);
  }
  texts.reserve(value->count);
  std::size_t at = 0;
  for (std::uint64_t n = 0; n < value->count; ++n) {
    std::uint64_t length = 0;
    std::memcpy(&length, value->bytes.data() + at, sizeof length);
    at += sizeof length;
    texts.emplace_back(reinterpret_cast<const char*>(value->bytes.data()) + at, static_cast<std::size_t>(length));
    at += static_cast<std::size_t>(length);
  }
  return texts;
}

}  // namespace locus::formats
