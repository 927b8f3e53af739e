// Files of a checkpoint by name: the files that opening it reads, and what a name stands for.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace locus::formats {

// The files of a checkpoint folder, or a checkpoint file and those beside it: configurations, weights and the shards
// that an index names, tokenizers, image preprocessing, expected values and records of training. For a file of a
// sharded run's trace, the files of all its ranks. Opens only indexes of shards. Empty for a path that does not exist.
std::vector<std::filesystem::path> files_read(const std::filesystem::path& checkpoint);

// Names of the files of all ranks of a sharded run, in order, whether they exist or not: for "t.rank1of2.safetensors"
// t.rank0of2.safetensors and itself. Empty for other names.
std::vector<std::filesystem::path> rank_files(const std::filesystem::path& file);

// The rank 0 file for "t.safetensors" where that file does not exist: t.rank0ofN.safetensors beside it, the most
// recently written if there are several. Empty where there is none, and where the file itself exists.
std::filesystem::path first_rank_of(const std::filesystem::path& whole);

// A file's name without extension and without rank: "t" for both of the above.
std::string whole_name(const std::filesystem::path& file);

// Files of weights in the order of search in a folder.
inline constexpr std::array<std::string_view, 4> kUsualWeights{"model.safetensors", "model.safetensors.index.json",
                                                               "pytorch_model.bin", "pytorch_model.bin.index.json"};

// Files that readers open by name, other than weights: configurations, tokenizers, image preprocessing, SeqPE's second
// file of weights, expected values, and records of training.
bool is_read_by_name(std::string_view name);

// An index of shards.
bool is_index(std::string_view name);

// Files of weights by extension: .safetensors, .gguf, .bin, .pt or .pth.
bool may_be_weights(std::string_view name);

// Files that a trainer writes beside the weights.
bool is_training_state(std::string_view name);

}  // namespace locus::formats
