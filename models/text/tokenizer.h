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
  Range bytes;  // in the input text; empty for tokens without text (special tokens, inserted prefix spaces)
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Accepts any bytes, invalid UTF-8 too. With `special`, adds the tokens that the model expects around a text (BOS,
  // CLS, SEP), as the checkpoint's tokenizer does. Ranges of the ordinary tokens, in order, tile the text unless the
  // normaliser drops bytes.
  virtual Result<std::vector<Token>> encode(std::string_view text, bool special = true) const = 0;
  // The bytes of the ids, without special tokens. decode(encode(x)) = x for byte-level and byte-fallback vocabularies.
  virtual std::string decode(std::span<const std::int64_t> ids) const = 0;
  // The label of a token: spaces as "·", newline as "⏎", other control characters and single bytes as "<0x0A>", special
  // tokens by name.
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

// Opens the tokenizer of a checkpoint folder: tokenizer.json | vocab.json + merges.txt | tokenizer.model (SentencePiece
// or tiktoken form) | source.spm + vocab.json | vocab.txt, with tokenizer_config.json. A folder without any gives a null
// pointer (ids only), not an error. Errors: kBadInput naming the file and what is wrong; kUnsupported for an unknown
// component.
Result<std::shared_ptr<const Tokenizer>> open_tokenizer(const std::filesystem::path& folder);

// Opens the tokenizer of the decoder's texts (Marian's target.spm). Null where one tokenizer serves both sides.
Result<std::shared_ptr<const Tokenizer>> open_decoder_tokenizer(const std::filesystem::path& folder);

}  // namespace locus::text
