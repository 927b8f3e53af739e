#include <cstdint>
#include <string_view>

#include "tests/fuzz/tokenizers.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace locus;
  const std::string_view content(reinterpret_cast<const char*>(data), size);
  fuzz::use_tokenizer(text::parse_sentence_piece(content, "tokenizer.model", {}), "tokenizer.model",
                      "  abc  ab Hello, wörld!\n\xff <s>▁ﬁ abab ");
  return 0;
}
