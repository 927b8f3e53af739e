#include <algorithm>

#include "models/text/token_model.h"
#include "models/text/utf8.h"

namespace locus::text {
namespace {

class WordPiece final : public TokenModel {
 public:
  WordPiece(Vocabulary vocabulary, WordPieceOptions options)
      : vocabulary_(std::move(vocabulary)), options_(std::move(options)) {
    for (const auto& [entry, id] : vocabulary_.entries()) {
      longest_entry_ = std::max(longest_entry_, entry.size());
    }
  }

  Status encode(std::string_view word, std::vector<Piece>& pieces) const override {
    const std::size_t first = pieces.size();
    if (!too_long(word)) {
      std::string entry;
      std::size_t begin = 0;
      while (begin < word.size()) {
        const auto found = longest_from(word, begin, entry);
        if (!found) {
          break;
        }
        pieces.push_back(*found);
        begin = found->end;
      }
      if (begin == word.size()) {
        return {};
      }
    }
    pieces.resize(first);
    pieces.push_back({options_.unknown, 0, static_cast<std::uint32_t>(word.size())});
    return {};
  }

  const Vocabulary& vocabulary() const override { return vocabulary_; }
  std::string kind() const override { return "WordPiece"; }

 private:
  bool too_long(std::string_view word) const {
    std::int64_t characters = 0;
    for (std::size_t at = 0; at < word.size() && characters <= options_.longest_word;) {
      at += character_at(word, at).bytes;
      ++characters;
    }
    return characters > options_.longest_word;
  }

  std::optional<Piece> longest_from(std::string_view word, std::size_t begin, std::string& entry) const {
    const std::string_view prefix = begin > 0 ? options_.continuing_prefix : std::string_view();
    entry.assign(prefix).append(word.substr(begin, longest_entry_));
    while (entry.size() > prefix.size()) {
      if (const auto id = vocabulary_.find(entry)) {
        const std::size_t end = begin + entry.size() - prefix.size();
        return Piece{*id, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
      }
      entry.pop_back();
    }
    return std::nullopt;
  }

  Vocabulary vocabulary_;
  WordPieceOptions options_;
  std::size_t longest_entry_ = 0;  // in bytes
};

class WordLevel final : public TokenModel {
 public:
  WordLevel(Vocabulary vocabulary, std::optional<std::int32_t> unknown)
      : vocabulary_(std::move(vocabulary)), unknown_(unknown) {}

  Status encode(std::string_view word, std::vector<Piece>& pieces) const override {
    const auto found = vocabulary_.find(word);
    const auto id = found ? found : unknown_;
    if (!id) {
      return no_piece(word);
    }
    pieces.push_back({*id, 0, static_cast<std::uint32_t>(word.size())});
    return {};
  }

  const Vocabulary& vocabulary() const override { return vocabulary_; }
  std::string kind() const override { return "WordLevel"; }

 private:
  Vocabulary vocabulary_;
  std::optional<std::int32_t> unknown_;
};

}  // namespace

std::unique_ptr<TokenModel> make_word_piece(Vocabulary vocabulary, WordPieceOptions options) {
  return std::make_unique<WordPiece>(std::move(vocabulary), std::move(options));
}

std::unique_ptr<TokenModel> make_word_level(Vocabulary vocabulary, std::optional<std::int32_t> unknown) {
  return std::make_unique<WordLevel>(std::move(vocabulary), unknown);
}

}  // namespace locus::text
