// Tokenizer: text to token ids and back. Every token keeps its byte range in the text, so that views can colour the
// text itself.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/range.h"
#include "core/base/result.h"

namespace locus::text {

struct Token {
  std::int64_t id = 0;
  Range bytes;  // in the input text; empty for tokens that stand for no text (special tokens, inserted prefix spaces)
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Any bytes in (invalid UTF-8 too). With `special`, the tokens a model expects around a text (BOS, CLS, SEP) are
  // added as the checkpoint's tokenizer does. Ranges of the ordinary tokens, in order, tile the text unless the
  // normaliser drops bytes.
  virtual Result<std::vector<Token>> encode(std::string_view text, bool special = true) const = 0;
  // The bytes the ids stand for; special tokens are left out. decode(encode(x)) = x for byte-level and byte-fallback
  // vocabularies.
  virtual std::string decode(std::span<const std::int64_t> ids) const = 0;
  // How one token is shown: spaces as "·", newline as "⏎", other control and lone bytes as "<0x0A>", special tokens as
  // they are named.
  virtual std::string label(std::int64_t id) const = 0;
  virtual bool is_special(std::int64_t id) const = 0;
  virtual std::int64_t vocabulary() const = 0;  // the largest id + 1
  // "byte-level", "BPE", "Unigram", "WordPiece", "SentencePiece".
  virtual std::string kind() const = 0;
};

// One token per byte, ids 0…255. No files needed.
std::shared_ptr<const Tokenizer> byte_tokenizer();

// Writes the tokenizer.json of byte_tokenizer() into `folder`: Hugging Face's form of a byte-level BPE without merges
// whose 256 entries are the bytes in order, so that other programs read the same ids. Errors: kBadInput when the
// folder cannot be written.
Status write_byte_tokenizer(const std::filesystem::path& folder);

// The tokenizer of a checkpoint folder: tokenizer.json | vocab.json + merges.txt | tokenizer.model (SentencePiece or
// tiktoken form) | vocab.txt, with tokenizer_config.json. A folder without any gives a null pointer (ids only), not an
// error. Errors: kBadInput naming the file and what is wrong; kUnsupported for a component this reader does not know.
Result<std::shared_ptr<const Tokenizer>> open_tokenizer(const std::filesystem::path& folder);

}  // namespace locus::text
