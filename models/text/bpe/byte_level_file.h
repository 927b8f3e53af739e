// Writing a byte-level BPE tokenizer as the tokenizer.json that this and other programs read.
#pragma once

#include <span>
#include <string>
#include <utility>

namespace locus::text {

// Whether text is cut into words by GPT-2's split pattern before merges, or taken whole.
enum class Segmentation { kWords, kWhole };

// The text of a tokenizer.json. `entries`: the vocabulary in the order of ids, in byte-level spelling; `merges`: pairs
// of entries, the first to be joined first.
std::string byte_level_tokenizer_json(std::span<const std::string> entries,
                                      std::span<const std::pair<std::string, std::string>> merges,
                                      Segmentation segmentation);

}  // namespace locus::text
