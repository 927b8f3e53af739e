// safetensors: eight bytes of header length N (little endian), N bytes of JSON, then the tensors' bytes without holes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

#include "core/base/result.h"
#include "models/formats/tensor_source.h"

namespace locus::formats {

// The tensors of a safetensors file whose bytes `owner` keeps alive; `path` is for messages. Errors: kBadInput, naming
// file and tensor, for invalid content; kUnsupported for other dtypes; kTooLarge for more than 262,144 tensors.
Result<Source> read_safetensors(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                                const std::filesystem::path& path);

}  // namespace locus::formats
