// Token models: from one word of the pre-tokenizer to pieces of the vocabulary.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "models/text/steps/added_tokens.h"
#include "models/text/vocabulary.h"

namespace locus::text {

// Bytes [begin, end) of the word as one id.
struct Piece {
  std::int32_t id = 0;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

class TokenModel {
 public:
  virtual ~TokenModel() = default;
  // Appends the word's pieces, in order. Errors: kBadInput when a part of the word has no piece and there is no unknown
  // token.
  virtual Status encode(std::string_view word, std::vector<Piece>& pieces) const = 0;
  virtual const Vocabulary& vocabulary() const = 0;
  virtual std::string kind() const = 0;
  // True if "a b", with this spelling of the space, always gives the pieces of "a" followed by those of " b": then a
  // long text may be split before its runs of spaces.
  virtual bool splits_before(std::string_view /*space*/) const { return false; }
};

// One merge: the entries `left` and `right` become the entry that joins them.
using Merges = std::vector<std::pair<std::string, std::string>>;

// Byte-pair encoding: the symbols of a word (characters, or bytes) are joined by the best-ranked merge, again and
// again.
struct BpeOptions {
  bool bytes = false;          // entries are byte strings, symbols are bytes
  bool ignore_merges = false;  // a word that is an entry is one piece, whatever the merges say (Llama 3)
  bool byte_fallback = false;  // characters without an entry become <0xNN> pieces
  bool fuse_unknown = false;
  std::optional<std::int32_t> unknown = {};
  std::string continuing_prefix = {};  // prefix of every symbol but the first
  std::string word_suffix = {};        // of the last symbol ("</w>")
};
// Errors: kBadInput naming the first merge whose parts or result are not in the vocabulary.
Result<std::unique_ptr<TokenModel>> make_bpe(Vocabulary vocabulary, const Merges& merges, const BpeOptions& options);
// The tiktoken form: ids are ranks, and any two neighbours whose concatenation is an entry may merge.
Result<std::unique_ptr<TokenModel>> make_rank_bpe(Vocabulary vocabulary);

// SentencePiece's form: neighbours whose concatenation is an entry become that entry, the best score first, then the
// leftmost; a character that is no entry may still be part of one.
struct ScoredBpeOptions {
  enum class Start : std::uint8_t { kCharacters, kWords };  // initial symbols; words begin at every U+2581
  Start start = Start::kCharacters;
  bool joins = true;
  std::vector<float> scores;               // by id
  std::vector<bool> unused;                // by id: an unused entry is split into the two parts it was joined from
  const AddedTokenFinder* kept = nullptr;  // entries matched first and never joined; must outlive the model
  std::int32_t unknown = 0;
};
std::unique_ptr<TokenModel> make_scored_bpe(Vocabulary vocabulary, ScoredBpeOptions options);

// Unigram: the segmentation with the largest sum of scores (Viterbi).
struct UnigramOptions {
  std::vector<double> scores;  // by id
  std::optional<std::int32_t> unknown;
  bool byte_fallback = false;
  bool single = false;          // sums are rounded to 32 bits after each piece, as SentencePiece keeps them
  std::optional<double> worst;  // the unknown character's score is 10 below; without: the least of `scores`
};
// Errors: kBadInput when an entry has no score, or the unknown id none.
Result<std::unique_ptr<TokenModel>> make_unigram(Vocabulary vocabulary, UnigramOptions options);

// WordPiece: the longest entry that begins the word, then the longest with the prefix that continues it, and so on;
// the unknown token when there is none.
struct WordPieceOptions {
  std::int32_t unknown = 0;
  std::string continuing_prefix = "##";
  std::int64_t longest_word = 100;  // in characters; longer ones are unknown
};
std::unique_ptr<TokenModel> make_word_piece(Vocabulary vocabulary, WordPieceOptions options);

// Whole words only.
std::unique_ptr<TokenModel> make_word_level(Vocabulary vocabulary, std::optional<std::int32_t> unknown);

// The error "the vocabulary has no token for "…" and no unknown token".
Error no_piece(std::string_view part);

}  // namespace locus::text
