#include "models/formats/gguf/gguf_writer.h"
#include "models/api/convert.h"

#include "core/base/atomic_file.h"
#include "models/formats/tensor_table.h"

namespace locus::formats {

namespace {

constexpr std::uint64_t kWrittenAlignment = 32;

template <class T>
void append_number(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void append_text(std::string& bytes, std::string_view text) {
  append_number<std::uint64_t>(bytes, text.size());
  bytes += text;
}

std::uint64_t aligned(std::uint64_t size) {
  return (size + kWrittenAlignment - 1) / kWrittenAlignment * kWrittenAlignment;
}

// Bytes of a tensor. Errors: kBadInput.
Result<std::uint64_t> size_of_output(const std::filesystem::path& path, const GgufOutput& tensor) {
  std::vector<std::int64_t> strides;
  std::int64_t count = 0;
  const bool counted = row_major(tensor.shape, strides, count);
  const auto row = blocks::row_bytes(*tensor.format, tensor.shape.empty() ? 1 : tensor.shape.back());
  if (!counted || !row) {
    return bad_input("expected rows of whole blocks of " + std::to_string(tensor.format->elements) + ", found " +
                         shape_text(tensor.shape),
                     tensor_context(path, tensor.name));
  }
  return static_cast<std::uint64_t>(count / tensor.format->elements * tensor.format->bytes);
}

}  // namespace

void GgufValues::begin(std::string_view name, GgufType type) {
  append_text(bytes_, name);
  append_number(bytes_, static_cast<std::uint32_t>(type));
  ++count_;
}

void GgufValues::list(std::string_view name, GgufType type, std::uint64_t count) {
  begin(name, GgufType::kList);
  append_number(bytes_, static_cast<std::uint32_t>(type));
  append_number(bytes_, count);
}

void GgufValues::integer(std::string_view name, std::uint32_t value) {
  begin(name, GgufType::kU32);
  append_number(bytes_, value);
}

void GgufValues::number(std::string_view name, float value) {
  begin(name, GgufType::kF32);
  append_number(bytes_, value);
}

void GgufValues::boolean(std::string_view name, bool value) {
  begin(name, GgufType::kBool);
  append_number(bytes_, static_cast<std::uint8_t>(value));
}

void GgufValues::text(std::string_view name, std::string_view value) {
  begin(name, GgufType::kText);
  append_text(bytes_, value);
}

void GgufValues::texts(std::string_view name, const std::vector<std::string>& values) {
  list(name, GgufType::kText, values.size());
  for (const std::string& value : values) {
    append_text(bytes_, value);
  }
}

void GgufValues::numbers(std::string_view name, const std::vector<float>& values) {
  list(name, GgufType::kF32, values.size());
  for (const float value : values) {
    append_number(bytes_, value);
  }
}

void GgufValues::integers(std::string_view name, const std::vector<std::int32_t>& values) {
  list(name, GgufType::kI32, values.size());
  for (const std::int32_t value : values) {
    append_number(bytes_, value);
  }
}

void GgufValues::copy(std::string_view name, const GgufValue& value) {
  const std::string_view bytes(reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size());
  if (value.list) {
    list(name, value.type, value.count);
    bytes_ += bytes;
  } else if (value.type == GgufType::kText) {
    text(name, bytes);
  } else {
    begin(name, value.type);
    bytes_ += bytes;
  }
}

Status write_gguf(const std::filesystem::path& path, const GgufValues& values, const std::vector<GgufOutput>& tensors,
                  const std::function<Status(std::size_t)>& before) {
  std::string header = "GGUF";
  append_number<std::uint32_t>(header, 3);
  append_number<std::uint64_t>(header, tensors.size());
  append_number<std::uint64_t>(header, values.count());
  header += values.bytes();
  std::uint64_t offset = 0;
  for (const GgufOutput& tensor : tensors) {
    LOCUS_TRY(const std::uint64_t size, size_of_output(path, tensor));
    append_text(header, tensor.name);
    append_number(header, static_cast<std::uint32_t>(tensor.shape.size()));
    for (std::size_t n = tensor.shape.size(); n-- > 0;) {
      append_number(header, static_cast<std::uint64_t>(tensor.shape[n]));
    }
    append_number(header, tensor.format->number);
    append_number(header, offset);
    offset = aligned(offset + size);
  }
  header.resize(aligned(header.size()), '\0');
  LOCUS_TRY(AtomicFile file, AtomicFile::create(path));
  LOCUS_CHECK(file.write(header));
  for (std::size_t n = 0; n < tensors.size(); ++n) {
    LOCUS_CHECK(before ? before(n) : Status());
    const GgufOutput& tensor = tensors[n];
    const std::vector<float> numbers = tensor.values();
    LOCUS_TRY(const std::uint64_t size, size_of_output(path, tensor));
    std::vector<std::byte> bytes(aligned(size));
    const auto count = static_cast<std::int64_t>(numbers.size()) / tensor.format->elements;
    if (static_cast<std::uint64_t>(count * tensor.format->bytes) != size) {
      return internal("a tensor of another size than its shape: " + tensor.name);
    }
    blocks::pack(*tensor.format, numbers.data(), count, bytes.data());
    LOCUS_CHECK(file.write(bytes));
  }
  return file.commit();
}

}  // namespace locus::formats

namespace locus::models {

std::vector<std::string> written_formats() {
  std::vector<std::string> names;
  for (const blocks::Format& format : blocks::formats()) {
    if (format.pack != nullptr) {
      std::string& name = names.emplace_back(format.name);
      std::transform(name.begin(), name.end(), name.begin(), [](char letter) {
        return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter;
      });
    }
  }
  return names;
}

}  // namespace locus::models
