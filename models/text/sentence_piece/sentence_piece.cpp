#include <algorithm>
#include <limits>
#include <span>
#include <unordered_map>
#include <utility>

#include "models/text/bpe/byte_level.h"
#include "models/text/sentence_piece/model.h"
#include "models/text/token_model.h"
#include "models/text/tokenizer_files.h"
#include "models/text/utf8.h"

namespace locus::text {
namespace {

using Type = ModelPiece::Type;
using Kind = SentencePieceModel::Kind;

constexpr const char* kSpaceMark = "▁";

// User-defined pieces win over all others: each of their bytes counts as the best score. Sums and products are computed
// as in SentencePiece, in 32 bits where it uses 32 bits.
Result<std::unique_ptr<TokenModel>> make_unigram_of(const SentencePieceModel& model) {
  float least = std::numeric_limits<float>::max();
  float most = std::numeric_limits<float>::min();
  for (const ModelPiece& piece : model.pieces) {
    if (piece.type == Type::kNormal) {
      least = std::min(least, piece.score);
      most = std::max(most, piece.score);
    }
  }
  Vocabulary vocabulary;
  UnigramOptions options;
  for (const ModelPiece& piece : model.pieces) {
    if (piece.from_text() && piece.type != Type::kUnused) {
      vocabulary.add(piece.text, static_cast<std::int32_t>(options.scores.size()));
    }
    options.scores.push_back(piece.type == Type::kUserDefined
                                 ? static_cast<double>(static_cast<float>(piece.text.size()) * most) - 0.1
                                 : static_cast<double>(piece.score));
  }
  options.unknown = model.unknown;
  options.single = true;
  options.worst = static_cast<double>(least);
  return make_unigram(std::move(vocabulary), std::move(options));
}

std::unique_ptr<TokenModel> make_bpe_of(const SentencePieceModel& model, const AddedTokenFinder& kept) {
  Vocabulary vocabulary;
  ScoredBpeOptions options;
  for (const ModelPiece& piece : model.pieces) {
    if (piece.from_text()) {
      vocabulary.add(piece.text, static_cast<std::int32_t>(options.scores.size()));
    }
    options.scores.push_back(piece.score);
    options.unused.push_back(piece.type == Type::kUnused);
  }
  options.start = model.kind == Kind::kWord ? ScoredBpeOptions::Start::kWords : ScoredBpeOptions::Start::kCharacters;
  options.joins = model.kind == Kind::kBpe;
  options.kept = &kept;
  options.unknown = model.unknown;
  return make_scored_bpe(std::move(vocabulary), std::move(options));
}

class SentencePiece final : public Tokenizer {
 public:
  SentencePiece(SentencePieceModel model, const TokenizerConfig& config)
      : model_(std::move(model)), added_(config.added) {
    end_ = count();
    for (std::size_t id = 0; id < model_.pieces.size(); ++id) {
      if (model_.known >= 0 && model_.pieces[id].type == Type::kUnused && has_piece(static_cast<std::int64_t>(id))) {
        entries_.emplace(model_.pieces[id].text, static_cast<std::int64_t>(id));
      }
      if (model_.pieces[id].type == Type::kUserDefined) {
        AddedToken& token = kept_.emplace_back();
        token.content = model_.pieces[id].text;
        token.id = static_cast<std::int32_t>(id);
      }
    }
    for (const AddedToken& token : kept_) {
      kept_finder_.add(token.content, token);
    }
    for (const AddedToken& token : added_) {
      finder_.add(token.content, token);
      by_id_.emplace(token.id, &token);
      end_ = std::max<std::int64_t>(end_, std::int64_t{token.id} + 1);
    }
    const bool t5 = config.tokenizer_class.starts_with("T5") || config.tokenizer_class.starts_with("MT5");
    std::int64_t begin = config.add_bos.value_or(!t5) ? model_.begin : -1;
    std::int64_t end = config.add_eos.value_or(t5) ? model_.end : -1;
    if (config.tokenizer_class.starts_with("DebertaV2")) {  // whatever the model's names of begin and end are
      begin = piece_named("[CLS]");
      end = piece_named("[SEP]");
    }
    before_ = model_.before;
    after_ = model_.after;
    if (begin >= 0) {
      before_.insert(before_.begin(), begin);
    }
    if (end >= 0) {
      after_.insert(after_.begin(), end);
    }
  }

  // Called once, before everything else.
  Status build() {
    if (model_.kind == Kind::kUnigram) {
      LOCUS_TRY(token_model_, make_unigram_of(model_));
    } else {
      token_model_ = make_bpe_of(model_, kept_finder_);
    }
    return {};
  }

  Result<std::vector<Token>> encode(std::string_view text, bool special) const override {
    if (text.size() > kTextLimit) {
      return too_large("expected a text of at most " + std::to_string(kTextLimit) + " bytes, found " +
                       std::to_string(text.size()));
    }
    std::vector<Token> tokens;
    for (const std::int64_t id : special ? before_ : std::vector<std::int64_t>()) {
      tokens.push_back({id, {0, 0}});
    }
    for (const Segment& segment : finder_.split(text)) {
      if (segment.token != nullptr) {
        tokens.push_back({segment.token->id, {segment.begin, segment.end}});
      } else {
        const std::string_view part = text.substr(segment.begin, segment.end - segment.begin);
        LOCUS_CHECK(encode_part(MappedText(part, segment.begin), tokens));
      }
    }
    const auto end = static_cast<std::int64_t>(text.size());
    for (const std::int64_t id : special ? after_ : std::vector<std::int64_t>()) {
      tokens.push_back({id, {end, end}});
    }
    return tokens;
  }

  std::string decode(std::span<const std::int64_t> ids) const override {
    std::string text;
    std::string run;  // spelling within pieces: a space may be whole or as bytes
    const auto end_run = [&] {
      if (model_.escape_spaces) {
        replace_all(run, kSpaceMark, " ");
      }
      text += run;
      run.clear();
    };
    for (const std::int64_t id : ids) {
      if (const auto found = by_id_.find(id); found != by_id_.end()) {
        end_run();
        text += found->second->special ? std::string() : found->second->content;
      } else if (has_piece(id) && !is_special(id)) {
        run += bytes_of(id);
      }
    }
    end_run();
    if (model_.dummy_prefix && model_.space_is_suffix && text.ends_with(' ')) {
      text.pop_back();
    } else if (model_.dummy_prefix && !model_.space_is_suffix && text.starts_with(' ')) {
      text.erase(0, 1);
    }
    return text;
  }

  std::string label(std::int64_t id) const override {
    if (const auto found = by_id_.find(id); found != by_id_.end()) {
      return found->second->special ? found->second->content : readable(found->second->content);
    }
    if (!has_piece(id)) {
      return std::string("#").append(std::to_string(id));
    }
    return is_special(id) ? piece(id).text : readable(bytes_of(id));
  }

  bool is_special(std::int64_t id) const override {
    if (const auto found = by_id_.find(id); found != by_id_.end()) {
      return found->second->special;
    }
    return has_piece(id) && (piece(id).type == Type::kControl || piece(id).type == Type::kUnknown);
  }
  std::int64_t vocabulary() const override { return end_; }
  std::string kind() const override { return "SentencePiece"; }

 private:
  // The id of a piece that is not text; −1 where there is none.
  std::int64_t piece_named(std::string_view name) const {
    const auto found = std::find_if(model_.pieces.begin(), model_.pieces.end(), [&](const ModelPiece& piece) {
      return piece.text == name && piece.type != Type::kNormal;
    });
    return found == model_.pieces.end() ? -1 : found - model_.pieces.begin();
  }
  std::int64_t count() const {
    return model_.known < 0 ? static_cast<std::int64_t>(model_.pieces.size()) : model_.known;
  }
  bool has_piece(std::int64_t id) const { return id >= 0 && id < count(); }
  const ModelPiece& piece(std::int64_t id) const { return model_.pieces[static_cast<std::size_t>(id)]; }

  // The id of unknown characters: with ids of a vocabulary, that of an entry that is no piece of this model.
  std::int64_t named(std::string_view characters) const {
    const auto found = entries_.find(std::string(characters));
    return found == entries_.end() ? model_.unknown : found->second;
  }

  std::string bytes_of(std::int64_t id) const {
    const std::string& text = piece(id).text;
    const auto byte = piece(id).type == Type::kByte ? byte_of_name(text) : std::nullopt;
    return byte ? std::string(1, static_cast<char>(*byte)) : text;
  }

  Status encode_part(const MappedText& part, std::vector<Token>& tokens) const {
    LOCUS_TRY(const MappedText text, normalize(model_, kept_finder_, part));
    if (text.size() > kTextLimit) {
      return too_large("the text grows beyond " + std::to_string(kTextLimit) + " bytes when it is normalised");
    }
    std::vector<Piece> pieces;
    LOCUS_CHECK(token_model_->encode(text.text(), pieces));
    std::size_t unknown_begin = text.size();  // of the unknown characters before; the text's end: none
    for (const Piece& found : pieces) {
      const bool unknown = found.id == model_.unknown;
      if (unknown && model_.bytes) {
        for (std::size_t at = found.begin; at < found.end; ++at) {
          const std::int32_t id = (*model_.bytes)[static_cast<std::uint8_t>(text.text()[at])];
          tokens.push_back({id, text.source(at, at + 1)});
        }
      } else if (unknown && unknown_begin < text.size()) {  // consecutive unknown characters are one token
        tokens.back().bytes.end = text.origin(found.end);
        tokens.back().id = named(text.text().substr(unknown_begin, found.end - unknown_begin));
      } else {
        const std::int64_t id = unknown ? named(text.text().substr(found.begin, found.end - found.begin)) : found.id;
        tokens.push_back({has_piece(id) ? id : model_.unknown, text.source(found.begin, found.end)});
      }
      unknown_begin = !unknown ? text.size() : std::min(unknown_begin, std::size_t{found.begin});
    }
    return {};
  }

  SentencePieceModel model_;
  std::unique_ptr<TokenModel> token_model_;
  std::vector<AddedToken> kept_;  // the user-defined pieces
  AddedTokenFinder kept_finder_;
  std::vector<AddedToken> added_;
  AddedTokenFinder finder_;
  std::unordered_map<std::int64_t, const AddedToken*> by_id_;
  std::unordered_map<std::string, std::int64_t> entries_;  // of a vocabulary that are no pieces of this model
  std::int64_t end_ = 0;
  std::vector<std::int64_t> before_;
  std::vector<std::int64_t> after_;
};

}  // namespace

TokenizerResult parse_sentence_piece(std::string_view bytes, const std::string& file, const TokenizerConfig& config) {
  LOCUS_TRY(SentencePieceModel model, within(parse_sentence_piece_model(bytes), file));
  return make_sentence_piece(std::move(model), config, file);
}

TokenizerResult make_sentence_piece(SentencePieceModel model, const TokenizerConfig& config, const std::string& file) {
  auto tokenizer = std::make_shared<SentencePiece>(std::move(model), config);
  LOCUS_CHECK(within(tokenizer->build(), file));
  return std::shared_ptr<const Tokenizer>(std::move(tokenizer));
}

}  // namespace locus::text
