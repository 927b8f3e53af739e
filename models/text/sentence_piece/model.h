// A SentencePiece model file (the protocol-buffer message ModelProto): its pieces, the segmentation of a text into
// them, and the normalisation of spaces and characters before it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "models/text/mapped_text.h"
#include "models/text/sentence_piece/charsmap.h"
#include "models/text/steps/added_tokens.h"

namespace locus::text {

class Tokenizer;
struct TokenizerConfig;

struct ModelPiece {
  enum class Type : std::uint8_t { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };
  std::string text;
  float score = 0;
  Type type = Type::kNormal;
  // True if text can become this piece; control, unknown and byte pieces occur by name only.
  bool from_text() const { return type == Type::kNormal || type == Type::kUserDefined || type == Type::kUnused; }
};

struct SentencePieceModel {
  enum class Kind : std::uint8_t { kUnigram = 1, kBpe, kWord, kCharacter };
  std::vector<ModelPiece> pieces;  // by id
  Kind kind = Kind::kUnigram;
  std::int32_t unknown = -1;
  std::int32_t begin = -1;  // of a text ("<s>"); −1: none
  std::int32_t end = -1;
  std::int32_t known = -1;  // pieces from this one on have no id: the unknown one's is given; −1: all have one
  std::vector<std::int64_t> before = {};               // ids of every text: at its beginning, behind the model's own,
  std::vector<std::int64_t> after = {};                // and at its end
  std::optional<std::array<std::int32_t, 256>> bytes;  // with byte fallback: the piece of each byte
  std::optional<Charsmap> charsmap;
  bool dummy_prefix = true;         // a space before the text,
  bool space_is_suffix = false;     // or after it
  bool remove_extra_spaces = true;  // at both ends, and all but the first of a run
  bool escape_spaces = true;        // written U+2581
};

// Errors: kBadInput naming the piece when the message is malformed, a piece is empty, duplicate or not UTF-8, a score
// is not finite, there is not exactly one unknown piece, or byte fallback lacks a byte.
Result<SentencePieceModel> parse_sentence_piece_model(std::string_view bytes);

// The tokenizer of a model. Precondition: `unknown` is a piece. Errors name `file`.
Result<std::shared_ptr<const Tokenizer>> make_sentence_piece(SentencePieceModel model, const TokenizerConfig& config,
                                                             const std::string& file);

// Normalises a text to the spelling of the pieces. `kept` are the user-defined pieces, which no rule changes. A byte
// that is no character becomes U+FFFD, or stays for byte fallback. Errors: kTooLarge when the rules produce too long a
// text.
Result<MappedText> normalize(const SentencePieceModel& model, const AddedTokenFinder& kept, const MappedText& text);

}  // namespace locus::text
