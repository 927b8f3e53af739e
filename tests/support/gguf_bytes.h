// The bytes of a GGUF file, written part by part, so that a test can damage any of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace locus::test {

template <class T>
std::string raw(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

inline std::string counted(const std::string& text) {
  return raw<std::uint64_t>(text.size()) + text;
}

class GgufBytes {
 public:
  void value(const std::string& name, std::uint32_t type, const std::string& bytes) {
    values_ += counted(name) + raw(type) + bytes;
    ++value_count;
  }
  void integer(const std::string& name, std::uint32_t number) { value(name, 4, raw(number)); }
  void text(const std::string& name, const std::string& text) { value(name, 8, counted(text)); }
  void texts(const std::string& name, const std::vector<std::string>& texts) {
    std::string bytes = raw<std::uint32_t>(8) + raw<std::uint64_t>(texts.size());
    for (const std::string& each : texts) {
      bytes += counted(each);
    }
    value(name, 9, bytes);
  }
  // Sizes in the file's order: inputs, outputs.
  void tensor(const std::string& name, const std::vector<std::uint64_t>& sizes, std::uint32_t type,
              std::uint64_t offset) {
    entries_ += counted(name) + raw(static_cast<std::uint32_t>(sizes.size()));
    for (const std::uint64_t size : sizes) {
      entries_ += raw(size);
    }
    entries_ += raw(type) + raw(offset);
    ++tensor_count;
  }
  std::string file(std::size_t data) const {
    std::string bytes = "GGUF" + raw(version) + raw(tensor_count) + raw(value_count) + values_ + entries_;
    bytes.resize((bytes.size() + 31) / 32 * 32 + data, '\0');
    return bytes;
  }

  std::uint32_t version = 3;
  std::uint64_t tensor_count = 0;
  std::uint64_t value_count = 0;

 private:
  std::string values_;
  std::string entries_;
};

}  // namespace locus::test
