// Windows: the tokens of each sample of an atlas. They depend only on corpus, tokenizer, N, T and seed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "models/api/model.h"
#include "models/atlas/corpus.h"

namespace locus::models::atlas {

// T tokens, special ones at both ends included.
struct Window {
  std::vector<std::int64_t> ids;
  std::int64_t front = 0;  // special tokens before and after
  std::int64_t back = 0;
};

// Encodes a text for the model, with its special tokens.
using Encode = std::function<Result<std::vector<TokenInfo>>(const std::string& text)>;

struct WindowOptions {
  std::int64_t windows = 0;  // N
  std::int64_t length = 0;   // T
  std::uint64_t seed = 0;
};

class Windows {
 public:
  // `corpus` outlives this. Errors: kBadInput where T has no room for text; those of `encode`.
  static Result<Windows> make(const Corpus& corpus, Encode encode, const WindowOptions& options);

  // Window `index` of N. The corpus is divided into N equal stretches; a window begins at a word that the seed selects
  // in one of them, and the stretches follow in an order that covers the corpus evenly from the beginning. Where a text
  // ends before T tokens, the next one follows after the end-of-text token, if the tokenizer has one. Errors: kBadInput
  // for files that changed and for a corpus without a token; those of `encode`.
  Result<Window> at(std::int64_t index) const;
  // The same tokens between the special ones, in another order, drawn from the seed.
  Window shuffled(const Window& window, std::int64_t index) const;
  // The token between two texts.
  std::optional<std::int64_t> end_of_text() const { return end_of_text_; }
  const WindowOptions& options() const { return options_; }

 private:
  Windows(const Corpus& corpus, Encode encode, const WindowOptions& options)
      : corpus_(&corpus), encode_(std::move(encode)), options_(options) {}
  Status look_at_tokenizer();
  // Tokens of a text without the special ones.
  Result<std::vector<std::int64_t>> plain(const std::string& text) const;
  // At most `count` tokens of a file from `offset` on.
  Result<std::vector<std::int64_t>> tokens_from(std::size_t file, std::int64_t offset, std::int64_t count) const;
  // Start of the word after byte `offset`.
  Result<std::int64_t> word_from(std::size_t file, std::int64_t offset) const;

  const Corpus* corpus_;
  Encode encode_;
  WindowOptions options_;
  std::vector<std::int64_t> front_, back_;
  std::optional<std::int64_t> end_of_text_;
  std::int64_t stride_ = 1;  // between successive windows
};

}  // namespace locus::models::atlas
