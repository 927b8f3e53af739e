// What files of a checkpoint are called, told from names alone.
#pragma once

#include <array>
#include <string_view>

namespace locus::formats {

// Files of weights that a folder is opened by, the first that is there.
inline constexpr std::array<std::string_view, 4> kUsualWeights{"model.safetensors", "model.safetensors.index.json",
                                                               "pytorch_model.bin", "pytorch_model.bin.index.json"};

// What readers ask for by name, but for weights: configurations, tokenizers, image preparation, SeqPE's second file of
// weights, expected values, and records of training.
bool is_read_by_name(std::string_view name);

// An index of shards.
bool is_index(std::string_view name);

// Weights by their ending: .safetensors, .gguf, .bin, .pt or .pth.
bool may_be_weights(std::string_view name);

// What a trainer leaves beside the weights.
bool is_training_state(std::string_view name);

}  // namespace locus::formats
