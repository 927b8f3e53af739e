// Which files opening a checkpoint reads, told from names alone: nothing is opened but indexes of shards.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace locus::formats {

// The files of a checkpoint folder, or a checkpoint file and those beside it: configurations, weights and the shards
// that an index names, tokenizers, image preparation, expected values and records of training. Empty for a path that
// does not exist.
// Of a file of a sharded run's trace, the files of all its ranks.
std::vector<std::filesystem::path> files_read(const std::filesystem::path& checkpoint);

// What the files of all ranks of a sharded run are called, in their order, whether they exist or not: for
// "t.rank1of2.safetensors" t.rank0of2.safetensors and itself. Empty for other names.
std::vector<std::filesystem::path> rank_files(const std::filesystem::path& file);

// The file of rank 0 that "t.safetensors" stands for where there is no such file: t.rank0ofN.safetensors beside it, of
// several the one that was written last. Empty where there is none, and where the file itself exists.
std::filesystem::path first_rank_of(const std::filesystem::path& whole);

// A file's name without its ending, and without its rank: "t" for both of the above.
std::string whole_name(const std::filesystem::path& file);

}  // namespace locus::formats
