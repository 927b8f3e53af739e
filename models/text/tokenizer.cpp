#include "models/text/tokenizer.h"

#include "core/base/atomic_file.h"
#include "models/text/tokenizer_files.h"

namespace locus::text {
namespace {

constexpr std::size_t kFileLimit = 128U << 20;

}  // namespace

Result<std::shared_ptr<const Tokenizer>> open_tokenizer(const std::filesystem::path& folder) {
  const auto has = [&](const char* name) {
    std::error_code error;
    return std::filesystem::is_regular_file(folder / name, error);
  };
  const auto read = [&](const char* name) { return read_file(folder / name, kFileLimit); };
  const auto path = [&](const char* name) { return (folder / name).string(); };
  const bool has_merges = has("vocab.json") && has("merges.txt");
  if (!has("tokenizer.json") && !has_merges && !has("tokenizer.model") && !has("vocab.txt")) {
    return std::shared_ptr<const Tokenizer>();
  }
  LOCUS_TRY(const TokenizerConfig config, read_tokenizer_config(folder));
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
  LOCUS_TRY(const std::string words, read("vocab.txt"));
  return parse_word_list(words, path("vocab.txt"), config);
}

}  // namespace locus::text
