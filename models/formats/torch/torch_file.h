// Files of torch.save: a zip archive of one pickle and one record per storage, or the older form of consecutive pickles
// and storages.
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
// If a dict has an entry `model`, `state_dict` or `model_state_dict` that holds tensors, that entry is read; tensors of
// an entry `pe_model` beside it are named "pe_model.…". Otherwise names of nested dicts are joined by dots, and a
// single tensor is named "tensor". A prefix `module.` of all names is removed. The rest of the outermost dict (numbers,
// texts, lists, dicts, and the fields of objects) is extra_json(). Unknown names of Python become a warning. Errors:
// kBadInput, naming file and tensor, for malformed content, for tensors that leave their storage and for a file without
// tensors; kUnsupported for big-endian files, quantised and complex storages.
Result<Source> read_torch_file(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                               const std::filesystem::path& path);

}  // namespace locus::formats
