#include <cstdint>
#include <string_view>
#include <vector>

#include "models/text/tokenizer_files.h"
#include "tests/fuzz/tensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace locus;
  const std::string_view model(reinterpret_cast<const char*>(data), size);
  const text::TokenizerResult tokenizer = text::parse_sentence_piece(model, "tokenizer.model", {});
  if (!tokenizer.ok()) {
    fuzz::check_error(tokenizer.error(), "tokenizer.model");
    return 0;
  }
  const std::string_view sample = "  abc  ab Hello, wörld!\n\xff <s>▁ﬁ abab ";
  const auto tokens = (*tokenizer)->encode(sample);
  if (tokens.ok()) {
    std::vector<std::int64_t> ids;
    for (const text::Token& token : *tokens) {
      fuzz::require(token.bytes.begin >= 0 && token.bytes.begin <= token.bytes.end &&
                    token.bytes.end <= static_cast<std::int64_t>(sample.size()));
      fuzz::require(token.id >= 0 && token.id < (*tokenizer)->vocabulary());
      (void)(*tokenizer)->label(token.id);
      ids.push_back(token.id);
    }
    (void)(*tokenizer)->decode(ids);
  }
  return 0;
}
