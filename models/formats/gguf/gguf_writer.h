// Writing a GGUF file, version 3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/block_formats.h"
#include "core/base/result.h"
#include "models/formats/gguf/gguf_metadata.h"

namespace locus::formats {

// The named values, in the order they are added.
class GgufValues {
 public:
  void integer(std::string_view name, std::uint32_t value);
  void number(std::string_view name, float value);
  void boolean(std::string_view name, bool value);
  void text(std::string_view name, std::string_view value);
  void texts(std::string_view name, const std::vector<std::string>& values);
  void numbers(std::string_view name, const std::vector<float>& values);
  void integers(std::string_view name, const std::vector<std::int32_t>& values);
  // Copies a value of another file.
  void copy(std::string_view name, const GgufValue& value);

  std::uint64_t count() const { return count_; }
  const std::string& bytes() const { return bytes_; }

 private:
  void begin(std::string_view name, GgufType type);
  void list(std::string_view name, GgufType type, std::uint64_t count);

  std::string bytes_;
  std::uint64_t count_ = 0;
};

// A tensor: its shape (outputs, inputs), and a function that returns its numbers, called once, when the tensor is
// written.
struct GgufOutput {
  std::string name;
  std::vector<std::int64_t> shape;
  const blocks::Format* format = nullptr;  // a type that can be written; a row is a whole number of blocks
  std::function<std::vector<float>()> values;
};

// Writes the file atomically, one tensor after another: only one is in memory at a time. Errors: kBadInput for a file
// that cannot be written, and for a shape that the type does not allow.
Status write_gguf(const std::filesystem::path& path, const GgufValues& values, const std::vector<GgufOutput>& tensors,
                  const std::function<Status(std::size_t tensor)>& before = {});

}  // namespace locus::formats
