// Which files opening a checkpoint reads, told from names alone: nothing is opened but indexes of shards.
#pragma once

#include <filesystem>
#include <vector>

namespace locus::checkpoint {

// The files of a checkpoint folder, or a checkpoint file and those beside it: configurations, weights and the shards
// that an index names, tokenizers, image preparation, expected values and records of training. Empty for a path that
// does not exist.
std::vector<std::filesystem::path> files_read(const std::filesystem::path& checkpoint);

}  // namespace locus::checkpoint
