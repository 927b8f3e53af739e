#include "models/text/sentence_piece/model.h"

#include <bit>
#include <cmath>
#include <unordered_map>

#include "models/text/bpe/byte_level.h"
#include "models/text/sentence_piece/protobuf.h"
#include "models/text/utf8.h"

namespace locus::text {
namespace {

using Type = ModelPiece::Type;
using Kind = SentencePieceModel::Kind;

// The trainer's settings that matter, before the pieces are read.
struct Trainer {
  bool byte_fallback = false;
  std::string begin = "<s>";
  std::string end = "</s>";
};

bool is_text(std::string_view bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const Character character = character_at(bytes, at);
    if (!character.valid || character.code == 0) {
      return false;
    }
    at += character.bytes;
  }
  return !bytes.empty();
}

// piece = 1, score = 2, type = 3.
Result<ModelPiece> parse_piece(std::string_view message, const std::string& where) {
  ModelPiece piece;
  ProtobufReader reader(message);
  while (const auto field = reader.next()) {
    if (field->number == 1) {
      piece.text = field->bytes;
    } else if (field->number == 2) {
      piece.score = std::bit_cast<float>(static_cast<std::uint32_t>(field->value));
    } else if (field->number == 3) {
      if (field->value < 1 || field->value > 6) {
        return bad_input("expected a type from 1 to 6, found " + std::to_string(field->value), where);
      }
      piece.type = static_cast<Type>(field->value);
    }
  }
  if (reader.broken()) {
    return bad_input("malformed", where);
  }
  if (!is_text(piece.text)) {
    return bad_input("expected UTF-8 of at least one byte, none of them zero", where);
  }
  if (!std::isfinite(piece.score)) {
    return bad_input("expected a finite score", where);
  }
  return piece;
}

// model_type = 3, treat_whitespace_as_suffix = 24, byte_fallback = 35, bos_piece = 46, eos_piece = 47.
Status parse_trainer(std::string_view message, SentencePieceModel& model, Trainer& trainer) {
  ProtobufReader reader(message);
  while (const auto field = reader.next()) {
    if (field->number == 3) {
      if (field->value < 1 || field->value > 4) {
        return bad_input("model_type: expected 1 to 4, found " + std::to_string(field->value));
      }
      model.kind = static_cast<Kind>(field->value);
    } else if (field->number == 24) {
      model.space_is_suffix = field->value != 0;
    } else if (field->number == 35) {
      trainer.byte_fallback = field->value != 0;
    } else if (field->number == 46) {
      trainer.begin = field->bytes;
    } else if (field->number == 47) {
      trainer.end = field->bytes;
    }
  }
  return reader.broken() ? Status(bad_input("malformed trainer_spec")) : Status();
}

// precompiled_charsmap = 2, add_dummy_prefix = 3, remove_extra_whitespaces = 4, escape_whitespaces = 5.
Status parse_rules(std::string_view message, SentencePieceModel& model) {
  ProtobufReader reader(message);
  while (const auto field = reader.next()) {
    if (field->number == 2 && !field->bytes.empty()) {
      LOCUS_TRY(model.charsmap, Charsmap::parse(field->bytes));
    } else if (field->number == 3) {
      model.dummy_prefix = field->value != 0;
    } else if (field->number == 4) {
      model.remove_extra_spaces = field->value != 0;
    } else if (field->number == 5) {
      model.escape_spaces = field->value != 0;
    }
  }
  return reader.broken() ? Status(bad_input("malformed normalizer_spec")) : Status();
}

// Pieces from text and pieces by name have separate name spaces; the latter's comes first.
Status index_pieces(SentencePieceModel& model, const Trainer& trainer) {
  std::unordered_map<std::string_view, std::int32_t> texts;
  std::unordered_map<std::string_view, std::int32_t> names;
  std::array<std::int32_t, 256> bytes{};
  bytes.fill(-1);
  for (std::size_t n = 0; n < model.pieces.size(); ++n) {
    const ModelPiece& piece = model.pieces[n];
    const auto id = static_cast<std::int32_t>(n);
    const std::string where = "piece " + std::to_string(n);
    if (!(piece.from_text() ? texts : names).emplace(piece.text, id).second) {
      return bad_input("\"" + readable(piece.text.substr(0, 40)) + "\" is there twice", where);
    }
    if (piece.type == Type::kUnknown) {
      if (model.unknown >= 0) {
        return bad_input("expected one unknown piece, found a second", where);
      }
      model.unknown = id;
    } else if (piece.type == Type::kByte) {
      const auto byte = byte_of_name(piece.text);
      if (!byte || !trainer.byte_fallback) {
        return bad_input(byte ? "a byte's piece, but no byte fallback" : "expected a byte's name, \"<0x00>\"", where);
      }
      bytes[*byte] = id;
    }
  }
  if (model.unknown < 0) {
    return bad_input("expected an unknown piece, found none");
  }
  if (trainer.byte_fallback) {
    for (const std::int32_t id : bytes) {
      if (id < 0) {
        return bad_input("byte fallback: expected a piece for each of 256 bytes");
      }
    }
    model.bytes = bytes;
  }
  const auto find = [&](const std::string& name) -> std::int32_t {
    for (const auto* space : {&names, &texts}) {
      if (const auto found = space->find(name); found != space->end()) {
        return found->second == model.unknown ? -1 : found->second;
      }
    }
    return -1;
  };
  model.begin = find(trainer.begin);
  model.end = find(trainer.end);
  return {};
}

}  // namespace

// pieces = 1, trainer_spec = 2, normalizer_spec = 3.
Result<SentencePieceModel> parse_sentence_piece_model(std::string_view bytes) {
  SentencePieceModel model;
  Trainer trainer;
  ProtobufReader reader(bytes);
  while (const auto field = reader.next()) {
    if (field->number == 1) {
      LOCUS_TRY(ModelPiece piece, parse_piece(field->bytes, "piece " + std::to_string(model.pieces.size())));
      model.pieces.push_back(std::move(piece));
    } else if (field->number == 2) {
      LOCUS_CHECK(parse_trainer(field->bytes, model, trainer));
    } else if (field->number == 3) {
      LOCUS_CHECK(parse_rules(field->bytes, model));
    }
  }
  if (reader.broken() || model.pieces.empty()) {
    return bad_input("not a SentencePiece model");
  }
  LOCUS_CHECK(index_pieces(model, trainer));
  return model;
}

}  // namespace locus::text
