// GGUF, versions 2 and 3: a header with two counts, named values, the tensors' names, sizes, types and offsets, then
// their bytes, each tensor aligned to a multiple of `general.alignment`. All numbers are little endian. A large model
// may have several files, NAME-00001-of-0000N.gguf and so on; the first holds the named values.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "models/formats/gguf/gguf_metadata.h"
#include "models/formats/tensor_source.h"

namespace locus::formats {

bool is_gguf(std::span<const std::byte> bytes);

// The tensors of a GGUF file whose bytes `owner` keeps alive, with TensorSource::gguf(); `path` is for messages. Every
// size in the file is checked against the file's size before memory is allocated. Shapes are (outputs, inputs), the
// reverse of the file's. Errors: kBadInput naming file and tensor or value, expected and found, for invalid content,
// including overlapping tensors; kUnsupported for version 1, big-endian files and other types of weights; kTooLarge for
// more than 262,144 tensors, 65,536 values, or a list of more than 16,777,216 items.
Result<Source> read_gguf(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                         const std::filesystem::path& path);

// All files of the model at `path`: the file itself, or all parts in order where its name marks it as one of several.
// The names are derived from the name only, in the same folder.
std::vector<std::filesystem::path> gguf_parts(const std::filesystem::path& path);

// The file at `path` and its other parts as one source. Errors: read_gguf()'s; kBadInput for a part that is missing,
// states another number or another number of parts or none where the first states one, or another architecture than the
// first; for a tensor in two parts, and for another number of tensors than the first part states.
Result<Source> open_gguf(const std::filesystem::path& path);

}  // namespace locus::formats
