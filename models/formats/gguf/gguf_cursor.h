// GgufCursor: reads a GGUF file sequentially, never beyond its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "models/formats/gguf/gguf_metadata.h"

namespace locus::formats {

// Errors are kBadInput naming the value (`what`: "the version"), the bytes it needs and the bytes left.
class GgufCursor {
 public:
  // Both outlive the cursor.
  GgufCursor(std::span<const std::byte> bytes, const std::filesystem::path& path) : bytes_(bytes), path_(path) {}

  std::size_t place() const { return at_; }                   // in bytes from the start
  std::uint64_t left() const { return bytes_.size() - at_; }  // bytes to the end
  void skip(std::size_t count) { at_ += count; }              // precondition: count ≤ left()

  // One number in the machine's own order.
  template <class T>
  Result<T> number(const std::string& what) {
    if (left() < sizeof(T)) {
      return cut_off(what, sizeof(T));
    }
    T value;
    std::memcpy(&value, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }

  // Bytes preceded by their count.
  Result<std::span<const std::byte>> counted(const std::string& what) {
    LOCUS_TRY(const auto length, number<std::uint64_t>("the length of " + what));
    if (length > left()) {
      return cut_off(what, length);
    }
    const std::span<const std::byte> part = bytes_.subspan(at_, static_cast<std::size_t>(length));
    at_ += part.size();
    return part;
  }

  // A text of 1 to 65,535 bytes.
  Result<std::string_view> name(const std::string& what) {
    LOCUS_TRY(const auto part, counted(what));
    if (part.empty() || part.size() > kNameLimit) {
      return bad_input("expected " + what + " of 1 to " + std::to_string(kNameLimit) + " bytes, found " +
                           std::to_string(part.size()),
                       path_.string());
    }
    return std::string_view(reinterpret_cast<const char*>(part.data()), part.size());
  }

  // The numbers of a value with known type and count.
  Result<std::span<const std::byte>> numbers(const GgufValue& value, const std::string& what) {
    const std::size_t size = size_of(value.type);
    if (value.count > left() / size) {
      return bad_input("expected " + std::to_string(value.count) + " numbers in " + what + ", found " +
                           std::to_string(left()) + " bytes to the file's end",
                       path_.string());
    }
    const std::size_t begin = at_;
    at_ += static_cast<std::size_t>(value.count) * size;
    return bytes_.subspan(begin, at_ - begin);
  }

  // A text without its length; texts of a list with their lengths.
  Result<std::span<const std::byte>> texts(const GgufValue& value, const std::string& what) {
    if (!value.list) {
      return counted(what);
    }
    const std::size_t begin = at_;
    if (value.count > left() / sizeof(std::uint64_t)) {
      return bad_input("expected " + std::to_string(value.count) + " texts in " + what + ", found " +
                           std::to_string(left()) + " bytes to the file's end",
                       path_.string());
    }
    for (std::uint64_t n = 0; n < value.count; ++n) {
      LOCUS_TRY(const auto text, counted(what));
      (void)text;
    }
    return bytes_.subspan(begin, at_ - begin);
  }

 private:
  Error cut_off(const std::string& what, std::uint64_t expected) const {
    return bad_input("expected " + std::to_string(expected) + " bytes of " + what + ", found " +
                         std::to_string(left()) + " to the file's end",
                     path_.string());
  }

  static constexpr std::uint64_t kNameLimit = 65'535;  // largest size in bytes of a tensor or a value

  std::span<const std::byte> bytes_;
  const std::filesystem::path& path_;
  std::size_t at_ = 0;
};

}  // namespace locus::formats
