// Decoders: from token strings back to text.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace locus::text {

class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual void apply(std::vector<std::string>& tokens) const = 0;
};
using Decoders = std::vector<std::unique_ptr<const Decoder>>;

// "##ing" continues the word before it; any other token begins a new word.
std::unique_ptr<const Decoder> word_piece_decoder(std::string prefix, bool cleanup);

// Replaces the marks of word ends by spaces; removes the last one.
std::unique_ptr<const Decoder> word_end_decoder(std::string suffix);

// The "decoder" of a tokenizer.json (null: none): ByteLevel, ByteFallback (to the bytes themselves), Metaspace,
// WordPiece, BPEDecoder, Fuse, Strip, Replace, Sequence. With `bytes`, the token strings are bytes already. Errors:
// kUnsupported naming another one.
Result<Decoders> parse_decoder(const nlohmann::json& value, const std::string& where, bool bytes);

}  // namespace locus::text
