#include "models/formats/file_names.h"

#include <algorithm>

namespace locus::formats {

namespace {

constexpr std::array<std::string_view, 20> kRead{"config.json",
                                                 "generation_config.json",
                                                 "preprocessor_config.json",
                                                 "pe_config.json",
                                                 "tokenizer.json",
                                                 "tokenizer_config.json",
                                                 "special_tokens_map.json",
                                                 "added_tokens.json",
                                                 "vocab.json",
                                                 "merges.txt",
                                                 "tokenizer.model",
                                                 "spiece.model",
                                                 "spm.model",
                                                 "sentencepiece.bpe.model",
                                                 "vocab.txt",
                                                 "training.json",
                                                 "loss.csv",
                                                 "training_state.safetensors",
                                                 "expected.safetensors",
                                                 "model_1.safetensors"};

}  // namespace

bool is_read_by_name(std::string_view name) {
  return std::find(kRead.begin(), kRead.end(), name) != kRead.end();
}

bool is_index(std::string_view name) {
  return name.ends_with(".safetensors.index.json") || name.ends_with(".bin.index.json");
}

bool may_be_weights(std::string_view name) {
  return name.ends_with(".safetensors") || name.ends_with(".gguf") || name.ends_with(".bin") || name.ends_with(".pt") ||
         name.ends_with(".pth");
}

bool is_training_state(std::string_view name) {
  constexpr std::array<std::string_view, 5> kStarts{"training_args", "optimizer", "scheduler", "scaler", "rng_state"};
  return std::any_of(kStarts.begin(), kStarts.end(), [&](std::string_view start) { return name.starts_with(start); });
}

}  // namespace locus::formats
