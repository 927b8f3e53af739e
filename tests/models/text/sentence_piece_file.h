// Small SentencePiece models, written byte by byte.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "models/text/bpe/byte_level.h"

namespace locus::text {

inline void put_varint(std::string& bytes, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) {
    bytes.push_back(static_cast<char>(static_cast<std::uint8_t>(value | 0x80)));
  }
  bytes.push_back(static_cast<char>(static_cast<std::uint8_t>(value)));
}

inline void put_number(std::string& bytes, unsigned field, std::uint64_t value) {
  put_varint(bytes, std::uint64_t{field} * 8);
  put_varint(bytes, value);
}

inline void put_message(std::string& bytes, unsigned field, const std::string& content) {
  put_varint(bytes, field * 8 + 2);
  put_varint(bytes, content.size());
  bytes += content;
}

struct PieceLine {
  std::string text;
  float score = 0;
  unsigned type = 1;  // 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte
};

inline void put_piece(std::string& model, const PieceLine& line) {
  std::string message;
  put_message(message, 1, line.text);
  message.push_back(2 * 8 + 5);
  const auto bits = std::bit_cast<std::uint32_t>(line.score);
  for (int n = 0; n < 4; ++n) {
    message.push_back(static_cast<char>(static_cast<std::uint8_t>(bits >> (8 * n))));
  }
  put_number(message, 3, line.type);
  put_message(model, 1, message);
}

struct ModelOptions {
  unsigned kind = 1;  // 1 unigram, 2 BPE, 3 word, 4 character
  bool byte_fallback = false;
  bool dummy_prefix = true;
  bool remove_extra = false;
  bool escape = true;
  bool suffix = false;
  std::string charsmap;
};

// <unk> <s> </s> (ids 0, 1, 2), with byte fallback 256 bytes (3 … 258), then the pieces.
inline std::string sentence_piece_model(const std::vector<PieceLine>& pieces, const ModelOptions& options) {
  std::string model;
  put_piece(model, {"<unk>", 0, 2});
  put_piece(model, {"<s>", 0, 3});
  put_piece(model, {"</s>", 0, 3});
  for (unsigned byte = 0; options.byte_fallback && byte < 256; ++byte) {
    put_piece(model, {byte_name(static_cast<std::uint8_t>(byte)), 0, 6});
  }
  for (const PieceLine& line : pieces) {
    put_piece(model, line);
  }
  std::string trainer;
  put_number(trainer, 3, options.kind);
  put_number(trainer, 24, options.suffix ? 1 : 0);
  put_number(trainer, 35, options.byte_fallback ? 1 : 0);
  put_message(model, 2, trainer);
  std::string rules;
  put_message(rules, 1, "identity");
  if (!options.charsmap.empty()) {
    put_message(rules, 2, options.charsmap);
  }
  put_number(rules, 3, options.dummy_prefix ? 1 : 0);
  put_number(rules, 4, options.remove_extra ? 1 : 0);
  put_number(rules, 5, options.escape ? 1 : 0);
  put_message(model, 3, rules);
  return model;
}

}  // namespace locus::text
