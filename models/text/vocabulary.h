// Vocabulary: the entries of a tokenizer and their ids.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace locus::text {

// Entries ↔ ids. The first of duplicate entries or ids is kept.
class Vocabulary {
 public:
  Vocabulary() = default;
  Vocabulary(Vocabulary&&) = default;
  Vocabulary& operator=(Vocabulary&&) = default;

  void add(std::string entry, std::int32_t id);
  std::optional<std::int32_t> find(std::string_view entry) const;
  // Null when the id has no entry.
  const std::string* entry(std::int64_t id) const;
  std::size_t size() const { return ids_.size(); }
  std::int64_t end() const { return end_; }  // the largest id + 1
  const auto& entries() const { return ids_; }
  // The ids of <0x00> … <0xFF>; none unless all exist.
  std::optional<std::array<std::int32_t, 256>> fallback_bytes() const;

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>> ids_;
  std::unordered_map<std::int64_t, const std::string*> entries_;
  std::int64_t end_ = 0;
};

}  // namespace locus::text
