#include "models/text/token_tables.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/base/shown.h"
#include "models/text/bpe/byte_level.h"
#include "models/text/sentence_piece/charsmap.h"
#include "models/text/sentence_piece/model.h"
#include "models/text/utf8.h"

namespace locus::text {
namespace {

using Type = ModelPiece::Type;

constexpr std::size_t kTokenLimit = 1U << 24U;
constexpr std::size_t kLongestToken = 1U << 16U;

// Ways to split a text into words, by their names in GGUF files. The patterns apply one after another.
struct WordPattern {
  std::vector<std::string_view> names;
  std::vector<const char*> patterns;
  bool ignore_merges = false;
  bool begins = false;  // adds the begin token where the file does not say
};

constexpr const char* kOneDigit = R"(\p{N})";
constexpr const char* kTekkenPattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kGpt4oPattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// Qwen 2's, with marks among the letters.
constexpr const char* kQwen35Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// DeepSeek's first models and its models for programs; a line end is always a word.
constexpr const char* kLineEnd = R"([\r\n])";
constexpr const char* kDeepSeekHan = R"([一-龥ࠀ-一가-\x{D7FF}]+)";
// DeepSeek V3: up to three digits, words of Chinese and Japanese, and the rest.
constexpr const char* kThreeDigits = R"(\p{N}{1,3})";
constexpr const char* kHanAndKana = R"([一-龥぀-ゟ゠-ヿ]+)";
constexpr const char* kDeepSeek3Pattern =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
// BLOOM and its relatives: runs without space and punctuation.
constexpr const char* kBloomPattern = R"( ?[^(\s|.,!?…。，、।۔،)]+)";
constexpr const char* kBailingPattern =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)";
constexpr const char* kSeedPattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)";

const std::vector<WordPattern>& word_patterns() {
  static const std::vector<WordPattern> patterns{
      {{"gpt-2", "phi-2", "mpt", "olmo", "jais", "trillion", "jina-es", "jina-de", "jina-v2-es", "jina-v2-de",
        "gigachat", "a.x-4.0", "mellum", "modern-bert", "exaone4", "granite-docling"},
       {kGpt2Pattern}},
      {{"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "midm-2.0", "lfm2", "jina-v5-nano"},
       {kLlama3Pattern},
       true,
       true},
      {{"smaug-bpe", "dbrx"}, {kLlama3Pattern}, true, true},
      {{"chatglm-bpe", "glm4"}, {kLlama3Pattern}},
      {{"qwen2", "deepseek-r1-qwen", "stablelm2", "hunyuan", "megrez", "kormo", "f2llmv2", "solar-open", "grok-2"},
       {kQwen2Pattern}},
      {{"qwen35"}, {kQwen35Pattern}},
      {{"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b", "mellum2"},
       {kOneDigit, kGpt2Pattern}},
      {{"tekken"}, {kTekkenPattern}, true, true},
      {{"gpt-4o", "llama4", "kanana2", "minimax-m2", "talkie"}, {kGpt4oPattern}},
      {{"deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"}, {kThreeDigits, kHanAndKana, kDeepSeek3Pattern}},
      {{"deepseek-coder"}, {kLineEnd, R"(\s?\p{L}+)", R"(\s?\p{P}+)", kDeepSeekHan, kOneDigit}},
      {{"falcon"}, {R"([\p{P}\$\+<=>\^~\|`]+)", kGpt2Pattern, "[0-9][0-9][0-9]"}},
      {{"bloom", "poro-chat", "gpt3-finnish"}, {kBloomPattern}},
      {{"viking"}, {kBloomPattern, kOneDigit}},
      {{"bailingmoe", "bailingmoe2", "llada-moe"}, {kBailingPattern}},
      {{"seed-coder"}, {kSeedPattern}}};
  return patterns;
}

const WordPattern* word_pattern(std::string_view name) {
  for (const WordPattern& each : word_patterns()) {
    if (std::find(each.names.begin(), each.names.end(), name) != each.names.end()) {
      return &each;
    }
  }
  return nullptr;
}

Status check_id(const TokenTables& tables, const std::optional<std::int64_t>& id, const char* what) {
  if (id && (*id < 0 || *id >= static_cast<std::int64_t>(tables.tokens.size()))) {
    return bad_input("expected an id below " + std::to_string(tables.tokens.size()) + " for the " + what +
                         " token, found " + std::to_string(*id),
                     tables.file);
  }
  return {};
}

Status check_tables(const TokenTables& tables) {
  const std::size_t count = tables.tokens.size();
  if (count == 0 || count > kTokenLimit) {
    return bad_input("expected 1 to " + std::to_string(kTokenLimit) + " tokens, found " + std::to_string(count),
                     tables.file);
  }
  if (!tables.types.empty() && tables.types.size() != count) {
    return bad_input(
        "expected " + std::to_string(count) + " types of tokens, found " + std::to_string(tables.types.size()),
        tables.file);
  }
  for (std::size_t id = 0; id < count; ++id) {
    const std::int64_t type = tables.types.empty() ? 1 : tables.types[id];
    if (type < 1 || type > 6 || tables.tokens[id].size() > kLongestToken) {
      return bad_input("token " + std::to_string(id) + ": expected a type from 1 to 6 and at most " +
                           std::to_string(kLongestToken) + " bytes, found type " + std::to_string(type) + " and " +
                           std::to_string(tables.tokens[id].size()) + " bytes",
                       tables.file);
    }
  }
  LOCUS_CHECK(check_id(tables, tables.begin, "begin"));
  LOCUS_CHECK(check_id(tables, tables.end, "end"));
  return check_id(tables, tables.unknown, "unknown");
}

Type type_of(const TokenTables& tables, std::size_t id) {
  return tables.types.empty() ? Type::kNormal : static_cast<Type>(tables.types[id]);
}

// Tokens that texts name: the control tokens, as tokenizers of the families take them, and the user-defined ones.
std::vector<AddedToken> named_tokens(const TokenTables& tables, bool user_defined) {
  std::vector<AddedToken> added;
  for (std::size_t id = 0; id < tables.tokens.size(); ++id) {
    const bool control = type_of(tables, id) == Type::kControl;
    if ((control || (user_defined && type_of(tables, id) == Type::kUserDefined)) && !tables.tokens[id].empty()) {
      added.push_back(
          {.content = std::string(tables.tokens[id]), .id = static_cast<std::int32_t>(id), .special = control});
    }
  }
  return added;
}

// GGUF files write user-defined pieces with spaces; SentencePiece searches them where spaces are marked, and then also
// finds them where a text contains the mark itself.
std::string piece_of(const TokenTables& tables, std::size_t id) {
  std::string piece(tables.tokens[id]);
  if (type_of(tables, id) == Type::kUserDefined) {
    replace_all(piece, " ", "▁");
  }
  return piece;
}

// The ids of the 256 bytes; none unless all are there.
std::optional<std::array<std::int32_t, 256>> byte_ids(const TokenTables& tables) {
  std::array<std::int32_t, 256> ids{};
  ids.fill(-1);
  for (std::size_t id = 0; id < tables.tokens.size(); ++id) {
    const auto byte = type_of(tables, id) == Type::kByte ? byte_of_name(tables.tokens[id]) : std::nullopt;
    if (byte) {
      ids[*byte] = static_cast<std::int32_t>(id);
    }
  }
  return std::find(ids.begin(), ids.end(), -1) == ids.end() ? std::optional(ids) : std::nullopt;
}

Status check_scores(const TokenTables& tables) {
  const std::size_t count = tables.tokens.size();
  if (tables.scores.size() != count ||
      !std::all_of(tables.scores.begin(), tables.scores.end(), [](double score) { return std::isfinite(score); })) {
    return bad_input("expected " + std::to_string(count) + " finite scores of tokens, found " +
                         (tables.scores.size() == count ? "others" : std::to_string(tables.scores.size())),
                     tables.file);
  }
  return {};
}

TokenizerResult scored_merges(const TokenTables& tables) {
  const std::size_t count = tables.tokens.size();
  LOCUS_CHECK(check_scores(tables));
  SentencePieceModel model;
  model.kind = SentencePieceModel::Kind::kBpe;
  // With a space before the text, programs that read such files split a text at the user-defined pieces and add the
  // space before each part; without one, SentencePiece's own search gives the same pieces.
  const bool space_before = tables.space_before.value_or(true);
  for (std::size_t id = 0; id < count; ++id) {
    model.pieces.push_back({space_before ? std::string(tables.tokens[id]) : piece_of(tables, id),
                            static_cast<float>(tables.scores[id]), type_of(tables, id)});
  }
  model.unknown = static_cast<std::int32_t>(tables.unknown.value_or(0));
  model.begin = static_cast<std::int32_t>(tables.begin.value_or(-1));
  model.end = static_cast<std::int32_t>(tables.end.value_or(-1));
  model.bytes = byte_ids(tables);
  model.dummy_prefix = space_before;
  model.remove_extra_spaces = false;
  TokenizerConfig config;
  config.add_bos = tables.add_begin.value_or(true);
  config.add_eos = tables.add_end.value_or(false);
  config.added = named_tokens(tables, space_before);
  return make_sentence_piece(std::move(model), config, tables.file);
}

Result<Merges> merges_of(const TokenTables& tables) {
  Merges merges;
  merges.reserve(tables.merges.size());
  const auto bytes_of = [](std::string_view entry) { return from_byte_level(entry).value_or(std::string(entry)); };
  for (const std::string_view merge : tables.merges) {
    const std::size_t space = merge.find(' ');
    if (space == 0 || space == std::string_view::npos || space + 1 == merge.size()) {
      return bad_input("merges: expected \"a b\", found \"" + shown(merge, 60) + "\"", tables.file);
    }
    merges.emplace_back(bytes_of(merge.substr(0, space)), bytes_of(merge.substr(space + 1)));
  }
  return merges;
}

TokenizerResult byte_merges(const TokenTables& tables) {
  const WordPattern* pattern = word_pattern(tables.pre);
  if (pattern == nullptr) {
    return unsupported("tokenizer.ggml.pre: cutting words as \"" + shown(tables.pre) + "\" is not known", tables.file);
  }
  PipelineParts parts;
  parts.added = named_tokens(tables, true);
  Vocabulary vocabulary;
  for (std::size_t id = 0; id < tables.tokens.size(); ++id) {
    const std::string_view token = tables.tokens[id];
    const auto number = static_cast<std::int32_t>(id);
    const Type type = type_of(tables, id);
    if (type != Type::kUserDefined && type != Type::kControl) {
      vocabulary.add(from_byte_level(token).value_or(std::string(token)), number);
    }
  }
  LOCUS_TRY(const Merges merges, merges_of(tables));
  const BpeOptions options{.bytes = true, .ignore_merges = pattern->ignore_merges};
  LOCUS_TRY(parts.model, within(make_bpe(std::move(vocabulary), merges, options), tables.file));
  for (const char* source : pattern->patterns) {
    LOCUS_TRY(Pattern compiled, Pattern::regex(source));
    parts.pre_tokenizers.steps.push_back(split_by(std::move(compiled), Behaviour::kIsolated, false));
  }
  parts.pre_tokenizers.byte_level = true;
  if (tables.begin && tables.add_begin.value_or(pattern->begins)) {
    parts.before.push_back(*tables.begin);
  }
  if (tables.end && tables.add_end.value_or(false)) {
    parts.after.push_back(*tables.end);
  }
  return within(make_pipeline(std::move(parts)), tables.file);
}

// Unigram pieces, as of T5 and XLM-RoBERTa.
TokenizerResult likeliest_pieces(const TokenTables& tables) {
  LOCUS_CHECK(check_scores(tables));
  SentencePieceModel model;
  model.kind = SentencePieceModel::Kind::kUnigram;
  for (std::size_t id = 0; id < tables.tokens.size(); ++id) {
    model.pieces.push_back({piece_of(tables, id), static_cast<float>(tables.scores[id]), type_of(tables, id)});
  }
  const auto unknown = std::find_if(model.pieces.begin(), model.pieces.end(),
                                    [](const ModelPiece& piece) { return piece.type == Type::kUnknown; });
  const std::int64_t found = unknown == model.pieces.end() ? 0 : unknown - model.pieces.begin();
  model.unknown = static_cast<std::int32_t>(tables.unknown.value_or(found));
  model.begin = static_cast<std::int32_t>(tables.begin.value_or(-1));
  model.end = static_cast<std::int32_t>(tables.end.value_or(-1));
  model.bytes = byte_ids(tables);
  model.dummy_prefix = tables.space_before.value_or(true);
  model.remove_extra_spaces = tables.remove_extra_spaces.value_or(false);
  if (!tables.charsmap.empty()) {
    LOCUS_TRY(model.charsmap, within(Charsmap::parse(tables.charsmap), tables.file));
  }
  TokenizerConfig config;
  config.add_bos = tables.add_begin.value_or(false);
  config.add_eos = tables.add_end.value_or(true);
  config.added = named_tokens(tables, true);
  return make_sentence_piece(std::move(model), config, tables.file);
}

// WordPiece: such tables mark the first part of a word with U+2581 in place of the others with ##. A table without
// capital letters is one of words in small letters.
TokenizerResult word_parts(const TokenTables& tables) {
  constexpr std::string_view kFirst = "▁";
  std::string lines;
  bool capitals = false;
  for (const std::string_view token : tables.tokens) {
    const bool named = token.starts_with('[') && token.ends_with(']');
    const bool first = token.starts_with(kFirst);
    if (token.find_first_of("\r\n") != token.npos) {
      return bad_input("expected tokens of one line, found \"" + shown(token, 60) + "\"", tables.file);
    }
    capitals = capitals || (!named && std::any_of(token.begin(), token.end(),
                                                  [](char letter) { return letter >= 'A' && letter <= 'Z'; }));
    lines += named || first ? "" : "##";
    lines += first && !named ? token.substr(kFirst.size()) : token;
    lines += '\n';
  }
  TokenizerConfig config;
  config.lowercase = !capitals;
  return parse_word_list(lines, tables.file, config);
}

}  // namespace

TokenizerResult tokenizer_of(const TokenTables& tables) {
  LOCUS_CHECK(check_tables(tables));
  if (tables.model == "llama") {
    return scored_merges(tables);
  }
  if (tables.model == "gpt2") {
    return byte_merges(tables);
  }
  if (tables.model == "t5") {
    return likeliest_pieces(tables);
  }
  if (tables.model == "bert") {
    return word_parts(tables);
  }
  return unsupported("tokenizer.ggml.model: expected llama, gpt2, t5 or bert, found \"" + shown(tables.model) + "\"",
                     tables.file);
}

}  // namespace locus::text
