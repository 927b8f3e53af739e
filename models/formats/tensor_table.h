// TensorTable: the tensors that a reader found in one file, and the TensorSource made of it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "models/formats/tensor_source.h"

namespace locus::formats {

// Upper limits; no file of weights reaches them.
inline constexpr std::size_t kTensorLimit = 262'144;
inline constexpr std::size_t kRankLimit = 32;

struct TensorTable {
  std::vector<TensorInfo> tensors;
  std::map<std::string, std::string> metadata;
  std::vector<std::filesystem::path> files;
  std::vector<std::string> warnings;
  std::string extra_json;
  std::shared_ptr<const GgufMetadata> gguf;
  std::vector<std::shared_ptr<const void>> owners;  // owners of the storages: mapped files, unpacked records
};

// Makes a TensorSource of the table. Errors: kBadInput for a duplicate name.
Result<Source> make_source(TensorTable table);

// "FILE: tensor NAME", the context of an error.
std::string tensor_context(const std::filesystem::path& file, std::string_view name);

// "[2, 3]".
std::string shape_text(const std::vector<std::int64_t>& shape);

// Row-major strides of `shape` in elements, and the number of elements in `count`; false when a product overflows int64
// or a dimension is negative.
bool row_major(const std::vector<std::int64_t>& shape, std::vector<std::int64_t>& strides, std::int64_t& count);

}  // namespace locus::formats
