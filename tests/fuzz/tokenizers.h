// What a program does with a tokenizer it opened, for fuzz targets.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/text/tokenizer_files.h"
#include "tests/fuzz/tensors.h"

namespace locus::fuzz {

// Encodes the sample: spans lie inside it, ids inside the vocabulary, and every id has a label and a text.
inline void use_tokenizer(const text::TokenizerResult& tokenizer, const std::string& file, std::string_view sample) {
  if (!tokenizer.ok()) {
    return check_error(tokenizer.error(), file);
  }
  const auto tokens = (*tokenizer)->encode(sample);
  if (!tokens.ok()) {
    return;
  }
  std::vector<std::int64_t> ids;
  for (const text::Token& token : *tokens) {
    require(token.bytes.begin >= 0 && token.bytes.begin <= token.bytes.end &&
            token.bytes.end <= static_cast<std::int64_t>(sample.size()));
    require(token.id >= 0 && token.id < (*tokenizer)->vocabulary());
    (void)(*tokenizer)->label(token.id);
    ids.push_back(token.id);
  }
  (void)(*tokenizer)->decode(ids);
}

}  // namespace locus::fuzz
