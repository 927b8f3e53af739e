// A byte-level BPE vocabulary learned from texts (Sennrich et al. 2016, on bytes as GPT-2's).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace locus::text {

// The text of a tokenizer.json that this and other programs read: ids 0 … 255 are the bytes, every further id the pair
// of neighbours that is most frequent once those before it are joined (the smaller ids of equals), inside the words of
// GPT-2's split pattern. Fewer than `vocabulary` entries when nothing occurs twice any more. Errors: kUsage unless
// `vocabulary` is 256 … 65536.
Result<std::string> train_byte_bpe(std::span<const std::string_view> texts, std::int64_t vocabulary);

}  // namespace locus::text
