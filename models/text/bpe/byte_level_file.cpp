#include "models/text/bpe/byte_level_file.h"

#include <nlohmann/json.hpp>

namespace locus::text {

std::string byte_level_tokenizer_json(std::span<const std::string> entries,
                                      std::span<const std::pair<std::string, std::string>> merges,
                                      Segmentation segmentation) {
  using Json = nlohmann::ordered_json;
  Json vocabulary = Json::object();
  for (std::size_t n = 0; n < entries.size(); ++n) {
    vocabulary[entries[n]] = n;
  }
  Json pairs = Json::array();
  for (const auto& [left, right] : merges) {
    pairs.push_back({left, right});
  }
  const Json byte_level{{"type", "ByteLevel"},
                        {"add_prefix_space", false},
                        {"trim_offsets", false},
                        {"use_regex", segmentation == Segmentation::kWords}};
  const Json model{{"type", "BPE"},
                   {"dropout", nullptr},
                   {"unk_token", nullptr},
                   {"continuing_subword_prefix", nullptr},
                   {"end_of_word_suffix", nullptr},
                   {"fuse_unk", false},
                   {"byte_fallback", false},
                   {"vocab", vocabulary},
                   {"merges", pairs}};
  const Json document{{"version", "1.0"},
                      {"truncation", nullptr},
                      {"padding", nullptr},
                      {"added_tokens", Json::array()},
                      {"normalizer", nullptr},
                      {"pre_tokenizer", byte_level},
                      {"post_processor", nullptr},
                      {"decoder", byte_level},
                      {"model", model}};
  return document.dump(2) + "\n";
}

}  // namespace locus::text
