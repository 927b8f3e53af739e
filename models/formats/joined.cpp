#include "models/formats/joined.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "models/formats/tensor_table.h"

namespace locus::formats {

namespace {

// The bytes of a tensor that is stored row by row.
std::span<const std::byte> bytes_of(const TensorInfo& tensor) {
  const std::size_t size = element_size(tensor.dtype);
  return tensor.storage.subspan(static_cast<std::size_t>(tensor.offset) * size,
                                static_cast<std::size_t>(tensor.elements()) * size);
}

Status check_part(const TensorInfo& part, const TensorInfo& first) {
  const std::string where = tensor_context(part.file, part.name);
  if (part.dtype == DType::kBlocks) {
    return unsupported("expected numbers that can be joined, found " + std::string(part.type_name()), where);
  }
  const bool same_rows = part.shape.size() == first.shape.size() && !part.shape.empty() &&
                         std::equal(part.shape.begin() + 1, part.shape.end(), first.shape.begin() + 1);
  if (part.dtype != first.dtype || !same_rows || !part.contiguous()) {
    return bad_input("expected rows of the type and shape of " + first.name + " " + shape_text(first.shape) +
                         ", found " + std::string(part.type_name()) + " " + shape_text(part.shape),
                     where);
  }
  return {};
}

}  // namespace

Result<Source> joined(const TensorSource& source, const std::vector<Joined>& tensors) {
  TensorTable table;
  for (const Joined& wanted : tensors) {
    auto bytes = std::make_shared<std::vector<std::byte>>();
    TensorInfo whole;
    for (const std::string& name : wanted.parts) {
      const TensorInfo* const part = source.find(name);
      if (part == nullptr) {
        return bad_input("expected a tensor " + name + " beside " + wanted.parts.front() + ", found none",
                         source.files().empty() ? "" : source.files().front().string());
      }
      if (whole.name.empty()) {
        whole = *part;
        LOCUS_CHECK(check_part(*part, *part));
        whole.shape.front() = 0;
      }
      LOCUS_CHECK(check_part(*part, whole));
      const std::span<const std::byte> own = bytes_of(*part);
      bytes->insert(bytes->end(), own.begin(), own.end());
      whole.shape.front() += part->shape.front();
    }
    if (whole.name.empty()) {
      continue;
    }
    whole.name = wanted.name;
    whole.offset = 0;
    std::int64_t count = 0;
    if (!row_major(whole.shape, whole.strides, count)) {
      return bad_input("expected a tensor whose size can be counted, found " + shape_text(whole.shape), wanted.name);
    }
    whole.storage = *bytes;
    table.owners.push_back(bytes);
    table.tensors.push_back(std::move(whole));
  }
  return make_source(std::move(table));
}

}  // namespace locus::formats
