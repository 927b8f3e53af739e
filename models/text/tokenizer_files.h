// Readers of the tokenizer files that open_tokenizer() accepts, and of the configuration files beside them.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "models/text/steps/added_tokens.h"
#include "models/text/steps/pipeline.h"
#include "models/text/tokenizer.h"

namespace locus::text {

// tokenizer_config.json, special_tokens_map.json and added_tokens.json; the first wins.
struct TokenizerConfig {
  std::string tokenizer_class;  // without "Fast"
  std::optional<bool> add_bos;
  std::optional<bool> add_eos;
  std::optional<bool> add_prefix_space;
  std::optional<bool> lowercase;  // do_lower_case
  std::optional<bool> strip_accents;
  std::optional<bool> space_cjk;               // tokenize_chinese_chars
  std::map<std::string, std::string> special;  // "bos" → "<s>"
  std::vector<std::string> more_special;       // additional_special_tokens
  std::string source_language;                 // src_lang
  std::vector<AddedToken> added;
};
// Missing files are no error. Errors: kBadInput naming file, field, expected and found.
Result<TokenizerConfig> read_tokenizer_config(const std::filesystem::path& folder);

// Adds the configuration's tokens that `parts` lacks, and marks its special ones.
void add_configured_tokens(const TokenizerConfig& config, PipelineParts& parts);

// One token of "added_tokens" (the id in the object) or "added_tokens_decoder" (the id as its key).
Result<AddedToken> parse_added_token(const nlohmann::json& value, std::optional<std::int64_t> id,
                                     const std::string& where);

using TokenizerResult = Result<std::shared_ptr<const Tokenizer>>;

// Parses `text`, the content of `file`; errors name the file.
TokenizerResult parse_tokenizer_json(std::string_view text, const std::string& file, const TokenizerConfig& config);
TokenizerResult parse_vocabulary_and_merges(std::string_view vocabulary, std::string_view merges,
                                            const std::string& file, const TokenizerConfig& config);
TokenizerResult parse_tiktoken(std::string_view text, const std::string& file, const TokenizerConfig& config);
TokenizerResult parse_word_list(std::string_view text, const std::string& file, const TokenizerConfig& config);
TokenizerResult parse_sentence_piece(std::string_view bytes, const std::string& file, const TokenizerConfig& config);
// The same pieces with fairseq's ids (XLM-RoBERTa, mBART). Errors: kUnsupported for another tokenizer_class.
TokenizerResult parse_fairseq_pieces(std::string_view bytes, const std::string& file, TokenizerConfig config);
// The same pieces with the ids of a vocabulary, whose file errors name (Marian); or, with languages, which have the ids
// behind it, M2M-100's.
TokenizerResult parse_pieces_with_ids(std::string_view bytes, const std::string& file, const Vocabulary& vocabulary,
                                      const std::string& vocabulary_file, TokenizerConfig config, bool languages);

// True if a tokenizer.model has tiktoken's form: lines of base64 and a rank.
bool is_tiktoken(std::string_view text);

// The ids of a JSON object "entry": id. Errors: kBadInput for ids outside 0 … 2³¹ − 2.
Result<Vocabulary> parse_vocabulary(const nlohmann::json& value, const std::string& where, bool bytes);

}  // namespace locus::text
