// Checkpoints in several files: an index (model.safetensors.index.json) maps tensors to files.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "models/formats/tensor_source.h"

namespace locus::formats {

struct ShardIndex {
  std::map<std::string, std::string> weight_map;  // tensor → file beside the index
};

// Parses an index; `path` gives the extension its files must have, and is for messages. Errors: kBadInput for text that
// is not such an index, and for a file name that leaves the index's folder ("..", a drive, a root) or has another
// extension; kTooLarge for more than 1,000,000 tensors or 4,096 files.
Result<ShardIndex> parse_shard_index(std::string_view json, const std::filesystem::path& path);

// The tensors of the index at `path`, each from the file that the index names, in the order of the files; `open_file`
// opens one of them. Tensors in a file but not in the index are left out with a warning. Errors: kBadInput for a tensor
// that its file does not contain.
Result<Source> open_sharded(const std::filesystem::path& path,
                            const std::function<Result<Source>(const std::filesystem::path&)>& open_file);

}  // namespace locus::formats
