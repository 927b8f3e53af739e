#include "models/text/tokenizer.h"

#include <algorithm>
#include <array>

#include "core/base/atomic_file.h"
#include "models/formats/json/json.h"
#include "models/text/tokenizer_files.h"

namespace locus::text {
namespace {

constexpr std::size_t kFileLimit = 128U << 20;
constexpr const char* kFairseqFile = "sentencepiece.bpe.model";
constexpr const char* kSourceFile = "source.spm";
constexpr const char* kTargetFile = "target.spm";
constexpr const char* kM2m100 = "M2M100Tokenizer";

// Names of SentencePiece models, and the default class where tokenizer_config.json has none: it decides the special
// tokens around a text.
struct SentencePieceName {
  const char* file;
  const char* tokenizer_class;
};
constexpr std::array<SentencePieceName, 3> kSentencePieces{
    {{"spiece.model", "T5Tokenizer"}, {"spm.model", "DebertaV2Tokenizer"}, {kFairseqFile, "XLMRobertaTokenizer"}}};

// The files of a checkpoint's folder.
class Folder {
 public:
  explicit Folder(const std::filesystem::path& path) : path_(path) {}
  bool has(const char* name) const {
    std::error_code error;
    return std::filesystem::is_regular_file(path_ / name, error);
  }
  Result<std::string> read(const char* name) const { return read_file(path_ / name, kFileLimit); }
  std::string path(const char* name) const { return (path_ / name).string(); }

 private:
  const std::filesystem::path& path_;
};

// SentencePiece pieces with the ids of a vocabulary.
TokenizerResult open_pieces_with_ids(const Folder& folder, const char* pieces, const char* vocabulary,
                                     const TokenizerConfig& config, bool languages) {
  LOCUS_TRY(const std::string bytes, folder.read(pieces));
  LOCUS_TRY(const std::string text, folder.read(vocabulary));
  LOCUS_TRY(const nlohmann::json document, parse_json(text, folder.path(vocabulary)));
  LOCUS_TRY(const Vocabulary entries, parse_vocabulary(document, folder.path(vocabulary), false));
  return parse_pieces_with_ids(bytes, folder.path(pieces), entries, folder.path(vocabulary), config, languages);
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> open_tokenizer(const std::filesystem::path& folder) {
  const Folder files(folder);
  const auto has = [&](const char* name) { return files.has(name); };
  const auto read = [&](const char* name) { return files.read(name); };
  const auto path = [&](const char* name) { return files.path(name); };
  const bool has_merges = has("vocab.json") && has("merges.txt");
  const bool has_source = has("vocab.json") && has(kSourceFile);
  const auto piece_model = std::find_if(kSentencePieces.begin(), kSentencePieces.end(),
                                        [&](const SentencePieceName& name) { return has(name.file); });
  const bool has_pieces = piece_model != kSentencePieces.end();
  if (!has("tokenizer.json") && !has_merges && !has("tokenizer.model") && !has_pieces && !has_source &&
      !has("vocab.txt")) {
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
  if (has_source) {
    return open_pieces_with_ids(files, kSourceFile, "vocab.json", config, false);
  }
  if (has_pieces) {
    const bool m2m = config.tokenizer_class.empty() || config.tokenizer_class == kM2m100;
    if (piece_model->file == std::string_view(kFairseqFile) && has("vocab.json") && m2m) {
      return open_pieces_with_ids(files, kFairseqFile, "vocab.json", config, true);
    }
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

Result<std::shared_ptr<const Tokenizer>> open_decoder_tokenizer(const std::filesystem::path& folder) {
  const Folder files(folder);
  if (files.has("tokenizer.json") || !files.has(kTargetFile) || !files.has("vocab.json")) {
    return std::shared_ptr<const Tokenizer>();
  }
  LOCUS_TRY(const TokenizerConfig config, read_tokenizer_config(folder));
  const char* const vocabulary = files.has("target_vocab.json") ? "target_vocab.json" : "vocab.json";
  return open_pieces_with_ids(files, kTargetFile, vocabulary, config, false);
}

}  // namespace locus::text
