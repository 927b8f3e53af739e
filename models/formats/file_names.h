// Classification of a checkpoint's files by name.
#pragma once

#include <array>
#include <string_view>

namespace locus::formats {

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
