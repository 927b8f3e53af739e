#include <bit>
#include <set>
#include <string>

#include "core/base/atomic_file.h"
#include "core/base/checked.h"
#include "core/base/shown.h"
#include "models/formats/json/json_events.h"
#include "models/formats/tensor_table.h"

namespace locus::formats {

namespace {

static_assert(std::endian::native == std::endian::little, "safetensors is little endian, and so is the machine");

// The number of its bytes.
Result<std::uint64_t> checked_size(const std::filesystem::path& path, const OutputTensor& tensor,
                                   std::set<std::string_view>& names) {
  const std::string context = tensor_context(path, tensor.name);
  if (!is_utf8(tensor.name) || tensor.name == "__metadata__" || !names.insert(tensor.name).second) {
    return bad_input("expected a name in UTF-8, used once and not __metadata__", context);
  }
  std::vector<std::int64_t> strides;
  std::int64_t count = 0;
  const bool counted = row_major(tensor.shape, strides, count);
  const auto bytes = checked_product({count, static_cast<std::int64_t>(element_size(tensor.dtype))});
  if (!counted || !bytes || (!tensor.make && static_cast<std::uint64_t>(*bytes) != tensor.bytes.size())) {
    return bad_input("expected the bytes of " + std::string(to_text(tensor.dtype)) + " " + shape_text(tensor.shape) +
                         ", found " + std::to_string(tensor.bytes.size()),
                     context);
  }
  return static_cast<std::uint64_t>(*bytes);
}

std::string metadata_json(const std::map<std::string, std::string>& metadata) {
  std::string text;
  for (const auto& [name, value] : metadata) {
    text += (text.empty() ? "\"__metadata__\":{" : ",") + json_quote(name) + ":" + json_quote(value);
  }
  return text.empty() ? text : text + "}";
}

}  // namespace

Status write_safetensors(const std::filesystem::path& path, const std::vector<OutputTensor>& tensors,
                         const std::map<std::string, std::string>& metadata) {
  for (const auto& [name, value] : metadata) {
    if (!is_utf8(name) || !is_utf8(value)) {
      return bad_input("expected metadata in UTF-8, found " + shown(name) + " = " + shown(value), path.string());
    }
  }
  std::string header = "{";
  header += metadata_json(metadata);
  std::set<std::string_view> names;
  std::vector<std::uint64_t> sizes;
  std::uint64_t offset = 0;
  for (const OutputTensor& tensor : tensors) {
    LOCUS_TRY(const std::uint64_t size, checked_size(path, tensor, names));
    const std::uint64_t end = offset + sizes.emplace_back(size);
    header += header.size() > 1 ? "," : "";
    header += json_quote(tensor.name);
    header += ":{\"dtype\":\"" + std::string(to_text(tensor.dtype)) + "\",\"shape\":" + shape_text(tensor.shape);
    header += ",\"data_offsets\":[" + std::to_string(offset) + "," + std::to_string(end) + "]}";
    offset = end;
  }
  header += '}';
  header.append((8 - header.size() % 8) % 8, ' ');  // the data begins at a multiple of 8
  const std::uint64_t length = header.size();
  LOCUS_TRY(AtomicFile file, AtomicFile::create(path));
  LOCUS_CHECK(file.write(std::as_bytes(std::span(&length, 1))));
  LOCUS_CHECK(file.write(header));
  for (std::size_t n = 0; n < tensors.size(); ++n) {
    const std::span<const std::byte> bytes = tensors[n].make ? tensors[n].make() : tensors[n].bytes;
    if (bytes.size() != sizes[n]) {
      return internal(tensor_context(path, tensors[n].name) + ": made " + std::to_string(bytes.size()) + " bytes of " +
                      std::to_string(sizes[n]));
    }
    LOCUS_CHECK(file.write(bytes));
  }
  return file.commit();
}

}  // namespace locus::formats
