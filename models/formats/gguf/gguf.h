// GGUF, versions 2 and 3: a header with two counts, named values, the tensors' names, sizes, types and places, and then
// their bytes, each tensor from a multiple of `general.alignment` on. All numbers are little endian. A large model may
// lie in several files, NAME-00001-of-0000N.gguf and so on, of which the first has the named values.
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

// The tensors of a GGUF file whose bytes `owner` keeps alive, with TensorSource::gguf(); `path` is for messages.
// Nothing is allocated by a number that the file names before it was held against the file's size. Shapes are those of
// other checkpoints, (outputs, inputs), which is the reverse of the file's. Errors: kBadInput naming file and tensor or
// value, expected and found, for whatever the format forbids, also tensors that overlap; kUnsupported for version 1, a
// file of a big-endian machine and types of weights that are not read; kTooLarge for more than 262,144 tensors, 65,536
// values, or a list of more than 16,777,216 items.
Result<Source> read_gguf(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                         const std::filesystem::path& path);

// The files that belong to the one at `path`: itself alone, or all parts in order where its name says that it is one of
// several. Names are made of the name alone, in the same folder.
std::vector<std::filesystem::path> gguf_parts(const std::filesystem::path& path);

// The file at `path` and its other parts as one source. Errors: read_gguf()'s; kBadInput for a part that is not there,
// says another number of parts, or is another's.
Result<Source> open_gguf(const std::filesystem::path& path);

}  // namespace locus::formats
