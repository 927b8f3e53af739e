#include "models/text/tokenizer.h"

#include <algorithm>
#include <array>

#include "core/base/atomic_file.h"
#include "models/text/tokenizer_files.h"

namespace locus::text {
namespace {

constexpr std::size_t kFileLimit = 128U << 20;
constexpr const char* kFairseqFile = "sentencepiece.bpe.model";

// Names of SentencePiece models, and the default class where tokenizer_config.json has none: it decides the special
// tokens around a text.
struct SentencePieceName {
  const char* file;
  const char* tokenizer_class;
};
constexpr std::array<SentencePieceName, 3> kSentencePieces{
    {{"spiece.model", "T5Tokenizer"}, {"spm.model", "DebertaV2Tokenizer"}, {kFairseqFile, "XLMRobertaTokenizer"}}};

}  // namespace

Result<std::shared_ptr<const Tokenizer>> open_tokenizer(const std::filesystem::path& folder) {
  const auto has = [&](const char* name) {
    std::error_code error;
    return std::filesystem::is_regular_file(folder / name, error);
  };
  const auto read = [&](const char* name) { return read_file(folder / name, kFileLimit); };
  const auto path = [&](const char* name) { return (folder / name).string(); };
  const bool has_merges = has("vocab.json") && has("merges.txt");
  const auto piece_model = std::find_if(kSentencePieces.begin(), kSentencePieces.end(),
                                        [&](const SentencePieceName& name) { return has(name.file); });
  const bool has_pieces = piece_model != kSentencePieces.end();
  if (!has("tokenizer.json") && !has_merges && !has("tokenizer.model") && !has_pieces && !has("vocab.txt")) {
    return std::shared_ptr<const Tokenizer>();
  }
  LOCUS_TRY(TokenizerConfig config, read_tokenizer_config(folder));
  if (has("tokenizer.json")) {
    LOCUS_TRY(const std::string text, read("tokenizer.json"));
    return parse_tokenizer_json(text, path("tokenizer.json"), config);
  }
  if (has_merges) {
    LOCUS_TRY(const std::string vocabulary, read("vocab.json"));
    LOCUS_TRY(const std::string merges, read("merges.txt"));
    return parse_vocabulary_and_merges(vocabulary, merges, folder.string(), config);
  }
  if (has("tokenizer.model")) {
    LOCUS_TRY(const std::string bytes, read("tokenizer.model"));
    return is_tiktoken(bytes) ? parse_tiktoken(bytes, path("tokenizer.model"), config)
                              : parse_sentence_piece(bytes, path("tokenizer.model"), config);
  }
  if (has_pieces) {
    if (config.tokenizer_class.empty()) {
      config.tokenizer_class = piece_model->tokenizer_class;
    }
    LOCUS_TRY(const std::string bytes, read(piece_model->file));
    if (piece_model->file == std::string_view(kFairseqFile)) {
      return parse_fairseq_pieces(bytes, path(kFairseqFile), config);
    }
    return parse_sentence_piece(bytes, path(piece_model->file), config);
  }
  LOCUS_TRY(const std::string words, read("vocab.txt"));
  return parse_word_list(words, path("vocab.txt"), config);
}

}  // namespace locus::text
