// Trains a byte-level BPE vocabulary on texts (Sennrich et al. 2016, on GPT-2's bytes).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace locus::text {

// Returns the text of a tokenizer.json: ids 0 … 255 are the bytes; every further id is the most frequent pair of
// neighbours once the earlier pairs are joined (the smaller ids of equally frequent ones), within the words of GPT-2's
// split pattern. Fewer than `vocabulary` entries when no pair occurs twice any more. Errors: kUsage unless `vocabulary`
// is 256 … 65536.
Result<std::string> train_byte_bpe(std::span<const std::string_view> texts, std::int64_t vocabulary);

}  // namespace locus::text
