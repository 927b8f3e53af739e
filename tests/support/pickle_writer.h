// Small pickles and zip archives for tests, byte by byte.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace locus::formats {

template <class T>
std::string little(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

struct TensorText {
  std::string type = "FloatStorage";
  std::string key;
  std::int64_t count = 0;
  std::int64_t offset = 0;
  std::vector<std::int64_t> shape{1};
  std::vector<std::int64_t> strides{1};
};

class PickleWriter {
 public:
  PickleWriter& raw(std::string_view code) {
    bytes_ += code;
    return *this;
  }
  PickleWriter& text(const std::string& value) {
    return raw("X").raw(little(static_cast<std::uint32_t>(value.size()))).raw(value);
  }
  PickleWriter& integer(std::int64_t value) { return raw("\x8a\x08").raw(little(value)); }
  PickleWriter& tuple(const std::vector<std::int64_t>& values) {
    raw("(");
    for (const std::int64_t value : values) {
      integer(value);
    }
    return raw("t");
  }
  PickleWriter& begin_dict() { return raw("}("); }
  PickleWriter& end_dict() { return raw("u"); }
  PickleWriter& tensor(const TensorText& tensor) {
    raw("ctorch._utils\n_rebuild_tensor_v2\n((");
    text("storage").raw("ctorch\n" + tensor.type + "\n").text(tensor.key).text("cpu").integer(tensor.count);
    return raw("tQ").integer(tensor.offset).tuple(tensor.shape).tuple(tensor.strides).raw("\x89}tR");
  }
  // What was written so far, to stand inside another pickle.
  const std::string& body() const { return bytes_; }
  std::string done() const { return "\x80\x02" + bytes_ + "."; }

 private:
  std::string bytes_;
};

struct ZipRecord {
  std::string name;
  std::string data;
};

// A zip archive of stored records, in order (APPNOTE.TXT 4.3: local headers of 30 bytes, directory entries of 46, an
// end of 22; what a reader does not need is zero).
inline std::string zip_of(const std::vector<ZipRecord>& records) {
  std::string file;
  std::string directory;
  for (const auto& [name, data] : records) {
    const auto size = little(static_cast<std::uint32_t>(data.size()));
    const auto name_size = little(static_cast<std::uint16_t>(name.size()));
    directory += "PK\x01\x02" + std::string(16, '\0') + size + size + name_size + std::string(12, '\0') +
                 little(static_cast<std::uint32_t>(file.size())) + name;
    file += "PK\x03\x04" + std::string(14, '\0') + size + size + name_size + std::string(2, '\0') + name + data;
  }
  const auto count = little(static_cast<std::uint16_t>(records.size()));
  return file + directory + "PK\x05\x06" + std::string(4, '\0') + count + count +
         little(static_cast<std::uint32_t>(directory.size())) + little(static_cast<std::uint32_t>(file.size())) +
         std::string(2, '\0');
}

}  // namespace locus::formats
