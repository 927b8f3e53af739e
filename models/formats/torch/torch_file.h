// Files of torch.save: a zip archive of one pickle and a record a storage, or the older form of pickles and storages in
// a row.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

#include "core/base/result.h"
#include "models/formats/tensor_source.h"

namespace locus::formats {

// The tensors of a torch file whose bytes `owner` keeps alive; `path` is for messages.
//
// A dict with an entry `model`, `state_dict` or `model_state_dict` that holds tensors stands for that entry; tensors of
// an entry `pe_model` beside it are named "pe_model.…". Elsewhere names of nested dicts are joined by dots, and a
// tensor alone is named "tensor". `module.` before every name is taken off. What is left of the outermost dict
// (numbers, texts, lists, dicts, and the fields of objects) is extra_json(). Names of Python that are not understood
// become a warning. Errors: kBadInput, naming file and tensor, for anything malformed, for tensors that leave their
// storage and for a file without tensors; kUnsupported for big-endian files, quantised and complex storages.
Result<Source> read_torch_file(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                               const std::filesystem::path& path);

}  // namespace locus::formats
