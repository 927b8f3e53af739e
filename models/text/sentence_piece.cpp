#include <sentencepiece_processor.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "models/text/byte_name.h"
#include "models/text/charsmap.h"
#include "models/text/protobuf.h"
#include "models/text/tokenizer_files.h"
#include "models/text/utf8.h"

namespace locus::text {
namespace {

constexpr const char* kSpace = "▁";

// What decoding needs to know of the model's normaliser.
struct SpaceRules {
  bool dummy_prefix = true;
  bool escape = true;
};

// piece = 1, score = 2.
Status check_piece(std::string_view message, std::size_t number) {
  ProtobufReader reader(message);
  while (const auto field = reader.next()) {
    if (field->number == 1) {
      for (std::size_t at = 0; at < field->bytes.size();) {
        const Character character = character_at(field->bytes, at);
        if (!character.valid || character.code == 0) {
          return bad_input("piece " + std::to_string(number) + ": expected UTF-8 without zero bytes");
        }
        at += character.bytes;
      }
    }
    if (field->number == 2 && !std::isfinite(std::bit_cast<float>(static_cast<std::uint32_t>(field->value)))) {
      return bad_input("piece " + std::to_string(number) + ": expected a finite score");
    }
  }
  return reader.broken() ? Status(bad_input("piece " + std::to_string(number) + ": malformed")) : Status();
}

// precompiled_charsmap = 2, add_dummy_prefix = 3, escape_whitespaces = 5.
Status check_normalizer(std::string_view message, SpaceRules& rules) {
  ProtobufReader reader(message);
  while (const auto field = reader.next()) {
    if (field->number == 2 && !field->bytes.empty()) {
      const auto map = Charsmap::parse(field->bytes);
      if (!map.ok()) {
        return map.error();
      }
    } else if (field->number == 3) {
      rules.dummy_prefix = field->value != 0;
    } else if (field->number == 5) {
      rules.escape = field->value != 0;
    }
  }
  return reader.broken() ? Status(bad_input("malformed normalizer")) : Status();
}

// The library trusts the model's trie, scores and strings; this does not. pieces = 1, normalizer = 3, denormalizer = 5.
Result<SpaceRules> check_model(std::string_view bytes) {
  SpaceRules rules;
  SpaceRules backwards;
  std::size_t pieces = 0;
  ProtobufReader reader(bytes);
  while (const auto field = reader.next()) {
    if (field->number == 1) {
      LOCUS_CHECK(check_piece(field->bytes, pieces++));
    } else if (field->number == 3 || field->number == 5) {
      LOCUS_CHECK(check_normalizer(field->bytes, field->number == 3 ? rules : backwards));
    } else if (field->number == 4) {
      return bad_input("expected a model without self-test data");
    }
  }
  if (reader.broken() || pieces == 0) {
    return bad_input("not a SentencePiece model");
  }
  return rules;
}

class SentencePiece final : public Tokenizer {
 public:
  SentencePiece(std::unique_ptr<sentencepiece::SentencePieceProcessor> processor, SpaceRules rules,
                const TokenizerConfig& config)
      : processor_(std::move(processor)), rules_(rules), added_(config.added) {
    end_ = processor_->GetPieceSize();
    for (const AddedToken& token : added_) {
      finder_.add(token.content, token);
      by_id_.emplace(token.id, &token);
      end_ = std::max<std::int64_t>(end_, std::int64_t{token.id} + 1);
    }
    const bool t5 = config.tokenizer_class.starts_with("T5") || config.tokenizer_class.starts_with("MT5");
    if (config.add_bos.value_or(!t5) && processor_->bos_id() >= 0) {
      before_ = processor_->bos_id();
    }
    if (config.add_eos.value_or(t5) && processor_->eos_id() >= 0) {
      after_ = processor_->eos_id();
    }
  }

  Result<std::vector<Token>> encode(std::string_view text, bool special) const override {
    if (text.size() > kTextLimit) {
      return too_large("expected a text of at most " + std::to_string(kTextLimit) + " bytes, found " +
                       std::to_string(text.size()));
    }
    std::vector<Token> tokens;
    if (special && before_ >= 0) {
      tokens.push_back({before_, {0, 0}});
    }
    for (const Segment& segment : finder_.split(text)) {
      if (segment.token != nullptr) {
        tokens.push_back({segment.token->id, {segment.begin, segment.end}});
      } else {
        LOCUS_CHECK(encode_part(text.substr(segment.begin, segment.end - segment.begin), segment.begin, tokens));
      }
    }
    if (special && after_ >= 0) {
      const auto end = static_cast<std::int64_t>(text.size());
      tokens.push_back({after_, {end, end}});
    }
    return tokens;
  }

  std::string decode(std::span<const std::int64_t> ids) const override {
    std::string text;
    for (const std::int64_t id : ids) {
      if (const auto found = by_id_.find(id); found != by_id_.end()) {
        text += found->second->special ? std::string() : found->second->content;
      } else if (has_piece(id) && !is_special(id)) {
        text += bytes_of(static_cast<int>(id));
      }
    }
    return rules_.dummy_prefix && text.starts_with(' ') ? text.substr(1) : text;
  }

  std::string label(std::int64_t id) const override {
    if (const auto found = by_id_.find(id); found != by_id_.end()) {
      return found->second->special ? found->second->content : readable(found->second->content);
    }
    if (!has_piece(id)) {
      return std::string("#").append(std::to_string(id));
    }
    return is_special(id) ? processor_->IdToPiece(static_cast<int>(id)) : readable(bytes_of(static_cast<int>(id)));
  }

  bool is_special(std::int64_t id) const override {
    if (const auto found = by_id_.find(id); found != by_id_.end()) {
      return found->second->special;
    }
    return has_piece(id) &&
           (processor_->IsControl(static_cast<int>(id)) || processor_->IsUnknown(static_cast<int>(id)));
  }
  std::int64_t vocabulary() const override { return end_; }
  std::string kind() const override { return "SentencePiece"; }

 private:
  bool has_piece(std::int64_t id) const { return id >= 0 && id < processor_->GetPieceSize(); }

  std::string bytes_of(int id) const {
    const std::string& piece = processor_->IdToPiece(id);
    if (processor_->IsByte(id)) {
      const auto byte = byte_of_name(piece);
      return byte ? std::string(1, static_cast<char>(*byte)) : piece;
    }
    if (!rules_.escape) {
      return piece;
    }
    std::string text = piece;
    replace_all(text, kSpace, " ");
    return text;
  }

  Status encode_part(std::string_view text, std::int64_t offset, std::vector<Token>& tokens) const {
    sentencepiece::ImmutableSentencePieceText result;
    const auto status = processor_->Encode(text, result.mutable_proto());
    if (!status.ok()) {
      return bad_input(std::string("SentencePiece: ") + status.error_message());
    }
    std::vector<std::int64_t> bytes;  // byte pieces of one character, which come before the piece that has its range
    for (const auto& piece : result.pieces()) {
      const Range range{piece.begin(), piece.end()};
      const auto id = static_cast<std::int64_t>(piece.id());
      if (!processor_->IsByte(static_cast<int>(id))) {
        tokens.push_back({id, {offset + range.begin, offset + range.end}});
        continue;
      }
      bytes.push_back(id);
      if (!range.empty()) {
        add_bytes(text, range, offset, bytes, tokens);
        bytes.clear();
      }
    }
    return {};
  }

  // The library turns a byte that is no character into U+FFFD and that into three bytes: the byte itself comes back.
  void add_bytes(std::string_view text, Range range, std::int64_t offset, const std::vector<std::int64_t>& bytes,
                 std::vector<Token>& tokens) const {
    const auto at = static_cast<std::size_t>(range.begin);
    if (range.size() == 1 && !character_at(text, at).valid) {
      const int id = processor_->PieceToId(byte_name(static_cast<std::uint8_t>(text[at])));
      tokens.push_back({id, {offset + range.begin, offset + range.end}});
      return;
    }
    const bool bytewise = static_cast<std::int64_t>(bytes.size()) == range.size();
    for (std::size_t n = 0; n < bytes.size(); ++n) {
      const auto place = static_cast<std::int64_t>(n);
      const std::int64_t begin = bytewise ? range.begin + place : n == 0 ? range.begin : range.end;
      const std::int64_t end = bytewise ? begin + 1 : range.end;
      tokens.push_back({bytes[n], {offset + begin, offset + end}});
    }
  }

  std::unique_ptr<sentencepiece::SentencePieceProcessor> processor_;
  SpaceRules rules_;
  std::vector<AddedToken> added_;
  AddedTokenFinder finder_;
  std::unordered_map<std::int64_t, const AddedToken*> by_id_;
  std::int64_t end_ = 0;
  std::int64_t before_ = -1;
  std::int64_t after_ = -1;
};

}  // namespace

TokenizerResult parse_sentence_piece(std::string_view bytes, const std::string& file, const TokenizerConfig& config) {
  const auto rules = check_model(bytes);
  if (!rules.ok()) {
    return rules.error().within(file);
  }
  auto processor = std::make_unique<sentencepiece::SentencePieceProcessor>();
  try {
    const auto status = processor->LoadFromSerializedProto(bytes);
    if (!status.ok()) {
      return bad_input(std::string("SentencePiece: ") + status.error_message(), file);
    }
  } catch (const std::exception& failure) {
    return bad_input(std::string("SentencePiece: ") + failure.what(), file);
  }
  return std::shared_ptr<const Tokenizer>(std::make_shared<SentencePiece>(std::move(processor), *rules, config));
}

}  // namespace locus::text
