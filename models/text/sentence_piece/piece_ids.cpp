// Ids of a SentencePiece model's pieces that are not their places in the file: fairseq's (XLM-RoBERTa, mBART), or those of
// a vocab.json beside it (Marian's pair of models, M2M-100); and the languages in front of or behind a text.
#include <algorithm>
#include <array>
#include <span>
#include <unordered_map>
#include <utility>

#include "core/base/shown.h"
#include "models/text/sentence_piece/model.h"
#include "models/text/tokenizer_files.h"

namespace locus::text {
namespace {

using Type = ModelPiece::Type;

constexpr const char* kXlmRoberta = "XLMRobertaTokenizer";
constexpr const char* kMbart = "MBartTokenizer";
constexpr const char* kMbart50 = "MBart50Tokenizer";

// <s>, <pad>, </s>, <unk>, and the model's pieces without its first three (<unk>, <s> and </s>).
Status number_as_fairseq(SentencePieceModel& model) {
  const std::vector<ModelPiece>& pieces = model.pieces;
  constexpr std::ptrdiff_t kNamed = 3;
  if (pieces.size() < kNamed || model.unknown != 0 || pieces[1].text != "<s>" || pieces[2].text != "</s>") {
    return bad_input("expected <unk>, <s> and </s> as the first three pieces, found others");
  }
  std::vector<ModelPiece> numbered{
      {"<s>", 0, Type::kControl}, {"<pad>", 0, Type::kControl}, {"</s>", 0, Type::kControl}, pieces.front()};
  numbered.insert(numbered.end(), pieces.begin() + kNamed, pieces.end());
  model.pieces = std::move(numbered);
  model.begin = 0;
  model.end = 2;
  model.unknown = 3;
  for (std::int32_t& id : model.bytes ? std::span<std::int32_t>(*model.bytes) : std::span<std::int32_t>()) {
    ++id;
  }
  return {};
}

// Adds a name that is one token wherever it occurs.
void add_name(const std::string& name, std::size_t id, TokenizerConfig& config) {
  const bool known = std::any_of(config.added.begin(), config.added.end(),
                                 [&](const AddedToken& token) { return token.content == name; });
  if (!known) {
    AddedToken& token = config.added.emplace_back();
    token.content = name;
    token.id = static_cast<std::int32_t>(id);
    token.special = true;
    token.left_strip = name == "<mask>";
  }
}

// The id of the language of a text, as the configuration says, or of the usual one.
Result<std::int64_t> language_of(const TokenizerConfig& config, const std::string& usual, const std::string& file) {
  const std::string name = config.source_language.empty() ? usual : config.source_language;
  for (const AddedToken& token : config.added) {
    if (token.content == name || token.content == "__" + name + "__") {
      return token.id;
    }
  }
  return unsupported("src_lang: expected one of additional_special_tokens, found " + shown(name), file);
}

// Leaves what is around a text to the model's `before` and `after`.
void put_around(SentencePieceModel& model, TokenizerConfig& config, std::vector<std::int64_t> before,
                std::vector<std::int64_t> after) {
  config.add_bos = config.add_eos = false;
  model.before = std::move(before);
  model.after = std::move(after);
}

std::string special_name(const TokenizerConfig& config, const char* special, const char* usual) {
  const auto found = config.special.find(special);
  return found == config.special.end() ? usual : found->second;
}

// Marian's name of a language in front of a text: ">>fra<<".
bool is_target_language(const std::string& entry) {
  return entry.starts_with(">>") && entry.ends_with("<<");
}

// The pieces by their ids in a vocabulary. Entries that are no pieces are not found in texts; pieces without an entry
// are behind all others, where they stand for the unknown one.
Status number_by_vocabulary(const Vocabulary& vocabulary, const std::string& unknown, SentencePieceModel& model) {
  const std::size_t count = vocabulary.size();
  const auto unknown_id = vocabulary.find(unknown);
  if (!unknown_id) {
    return bad_input("expected the unknown token \"" + unknown + "\", found none among " + std::to_string(count));
  }
  if (model.bytes) {
    return unsupported("expected pieces without byte fallback");
  }
  std::vector<ModelPiece> numbered;
  numbered.reserve(count);
  const bool apart = model.kind == SentencePieceModel::Kind::kUnigram;
  for (std::size_t id = 0; id < count; ++id) {
    const std::string* const entry = vocabulary.entry(static_cast<std::int64_t>(id));
    if (entry == nullptr) {
      return bad_input("expected ids from 0 to " + std::to_string(count - 1) + ", found none of " + std::to_string(id));
    }
    numbered.push_back({*entry, 0, apart && !is_target_language(*entry) ? Type::kUnused : Type::kControl});
  }
  for (ModelPiece& piece : model.pieces) {
    if (const auto id = vocabulary.find(piece.text)) {
      numbered[static_cast<std::size_t>(*id)] = std::move(piece);
    } else if (piece.from_text()) {
      numbered.push_back(std::move(piece));
    }
  }
  numbered[static_cast<std::size_t>(*unknown_id)].type = Type::kUnknown;
  model.pieces = std::move(numbered);
  model.unknown = *unknown_id;
  model.begin = model.end = -1;
  model.known = static_cast<std::int32_t>(count);
  return {};
}

}  // namespace

TokenizerResult parse_fairseq_pieces(std::string_view bytes, const std::string& file, TokenizerConfig config) {
  const bool mbart = config.tokenizer_class == kMbart;
  const bool mbart50 = config.tokenizer_class == kMbart50;
  if (config.tokenizer_class != kXlmRoberta && !mbart && !mbart50) {
    return unsupported("tokenizer_class: expected " + std::string(kXlmRoberta) + ", " + kMbart + " or " + kMbart50 +
                           ", found " + shown(config.tokenizer_class),
                       file);
  }
  LOCUS_TRY(SentencePieceModel model, within(parse_sentence_piece_model(bytes), file));
  LOCUS_CHECK(within(number_as_fairseq(model), file));
  constexpr std::array<const char*, 4> kFirst{"<s>", "<pad>", "</s>", "<unk>"};
  for (std::size_t id = 0; id < kFirst.size(); ++id) {
    add_name(kFirst[id], id, config);
  }
  std::size_t next = model.pieces.size();
  for (const std::string& language : mbart || mbart50 ? config.more_special : std::vector<std::string>()) {
    add_name(language, next++, config);
  }
  add_name("<mask>", next, config);
  if (!mbart && !mbart50) {
    put_around(model, config, {model.begin}, {model.end});
  } else {
    LOCUS_TRY(const std::int64_t language, language_of(config, "en_XX", file));
    put_around(model, config, mbart ? std::vector<std::int64_t>() : std::vector{language},
               mbart ? std::vector<std::int64_t>{model.end, language} : std::vector<std::int64_t>{model.end});
  }
  return make_sentence_piece(std::move(model), config, file);
}

TokenizerResult parse_pieces_with_ids(std::string_view bytes, const std::string& file, const Vocabulary& vocabulary,
                                      const std::string& vocabulary_file, TokenizerConfig config, bool languages) {
  LOCUS_TRY(SentencePieceModel model, within(parse_sentence_piece_model(bytes), file));
  const std::string unknown = special_name(config, "unk", "<unk>");
  LOCUS_CHECK(within(number_by_vocabulary(vocabulary, unknown, model), vocabulary_file));
  for (const std::string& name : {unknown, special_name(config, "eos", "</s>"), special_name(config, "pad", "<pad>")}) {
    if (const auto id = vocabulary.find(name)) {
      add_name(name, static_cast<std::size_t>(*id), config);
    }
  }
  for (const auto& [entry, id] : vocabulary.entries()) {
    if (!languages && is_target_language(entry)) {
      add_name(entry, static_cast<std::size_t>(id), config);
    }
  }
  std::size_t next = vocabulary.size();
  for (const std::string& language : languages ? config.more_special : std::vector<std::string>()) {
    add_name(language, next++, config);
  }
  const auto end = vocabulary.find(special_name(config, "eos", "</s>"));
  if (!end) {
    return bad_input("expected the token \"" + special_name(config, "eos", "</s>") + "\", found none", vocabulary_file);
  }
  std::vector<std::int64_t> before;
  if (languages) {
    LOCUS_TRY(before.emplace_back(), language_of(config, "en", file));
  }
  put_around(model, config, std::move(before), {*end});
  return make_sentence_piece(std::move(model), config, file);
}

}  // namespace locus::text
