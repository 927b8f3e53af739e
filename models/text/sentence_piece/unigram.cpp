#include <algorithm>
#include <limits>

#include "models/text/flat_map.h"
#include "models/text/token_model.h"
#include "models/text/utf8.h"

namespace locus::text {
namespace {

constexpr double kUnknownPenalty = 10.0;  // below the worst score, as in SentencePiece

// The best segmentation found so far that ends at a place of the word.
struct Reach {
  double score = -std::numeric_limits<double>::infinity();
  std::uint32_t from = 0;
  std::int32_t id = -1;  // −1: none; −2: an unknown character
};
constexpr std::int32_t kNowhere = -1;
constexpr std::int32_t kUnknown = -2;

class Unigram final : public TokenModel {
 public:
  Unigram(Vocabulary vocabulary, UnigramOptions options)
      : vocabulary_(std::move(vocabulary)), options_(std::move(options)) {
    if (options_.byte_fallback) {
      fallback_ = vocabulary_.fallback_bytes();
    }
    const auto worst = std::min_element(options_.scores.begin(), options_.scores.end());
    unknown_score_ = rounded(options_.worst.value_or(worst == options_.scores.end() ? 0.0 : *worst) - kUnknownPenalty);
    for (const auto& [entry, id] : vocabulary_.entries()) {
      add_path(entry, id);
    }
  }

  Status encode(std::string_view word, std::vector<Piece>& pieces) const override {
    std::vector<Reach> reach(word.size() + 1);
    reach[0].score = 0;
    for (std::size_t at = 0; at < word.size();) {
      const Character character = character_at(word, at);
      extend(word, at, character.bytes, reach);
      at += character.bytes;
    }
    std::vector<Piece> found;  // backwards
    for (auto at = static_cast<std::uint32_t>(word.size()); at > 0;) {
      const Reach& step = reach[at];
      if (step.id == kUnknown && !found.empty() && found.back().id == kUnknown) {
        found.back().begin = step.from;  // neighbouring unknown characters are one piece
      } else {
        found.push_back({step.id, step.from, at});
      }
      at = step.from;
    }
    std::reverse(found.begin(), found.end());
    for (const Piece& piece : found) {
      LOCUS_CHECK(emit(word, piece, pieces));
    }
    return {};
  }

  const Vocabulary& vocabulary() const override { return vocabulary_; }
  std::string kind() const override { return "Unigram"; }

 private:
  // A trie over bytes: (node, byte) → (child, id + 1 of the entry that ends there).
  void add_path(const std::string& entry, std::int32_t id) {
    std::uint32_t node = 0;
    for (const char letter : entry) {
      const auto byte = static_cast<std::uint8_t>(letter);
      const auto* edge = edges_.find(node, byte);
      if (edge == nullptr) {
        edges_.insert(node, byte, {++nodes_, 0});
        ends_.resize(nodes_ + 1, kNowhere);
        node = nodes_;
      } else {
        node = edge->first;
      }
    }
    if (!entry.empty()) {
      ends_[node] = id;
    }
  }

  void extend(std::string_view word, std::size_t at, std::size_t character_bytes, std::vector<Reach>& reach) const {
    const double here = reach[at].score;
    bool character_known = false;
    std::uint32_t node = 0;
    for (std::size_t end = at; end < word.size();) {
      const auto* edge = edges_.find(node, static_cast<std::uint8_t>(word[end]));
      if (edge == nullptr) {
        break;
      }
      node = edge->first;
      ++end;
      if (ends_[node] != kNowhere) {
        offer(reach[end], here + options_.scores[static_cast<std::size_t>(ends_[node])], at, ends_[node]);
        character_known = character_known || end - at == character_bytes;
      }
    }
    if (!character_known) {
      offer(reach[at + character_bytes], rounded(here + unknown_score_), at, kUnknown);
    }
  }

  double rounded(double score) const {
    return options_.single ? static_cast<double>(static_cast<float>(score)) : score;
  }

  void offer(Reach& reach, double score, std::size_t from, std::int32_t id) const {
    if (reach.id == kNowhere || score > reach.score) {
      reach = {rounded(score), static_cast<std::uint32_t>(from), id};
    }
  }

  Status emit(std::string_view word, const Piece& piece, std::vector<Piece>& pieces) const {
    if (piece.id != kUnknown) {
      pieces.push_back(piece);
      return {};
    }
    if (fallback_) {
      for (std::uint32_t at = piece.begin; at < piece.end; ++at) {
        pieces.push_back({(*fallback_)[static_cast<std::uint8_t>(word[at])], at, at + 1});
      }
      return {};
    }
    if (!options_.unknown) {
      return no_piece(word.substr(piece.begin, piece.end - piece.begin));
    }
    pieces.push_back({*options_.unknown, piece.begin, piece.end});
    return {};
  }

  Vocabulary vocabulary_;
  UnigramOptions options_;
  FlatMap edges_;
  std::vector<std::int32_t> ends_{kNowhere};
  std::uint32_t nodes_ = 0;
  double unknown_score_ = 0;
  std::optional<std::array<std::int32_t, 256>> fallback_;
};

}  // namespace

Result<std::unique_ptr<TokenModel>> make_unigram(Vocabulary vocabulary, UnigramOptions options) {
  if (static_cast<std::int64_t>(options.scores.size()) < vocabulary.end()) {
    return bad_input("expected " + std::to_string(vocabulary.end()) + " scores, found " +
                     std::to_string(options.scores.size()));
  }
  if (options.unknown &&
      (*options.unknown < 0 || static_cast<std::size_t>(*options.unknown) >= options.scores.size())) {
    return bad_input("unk_id: expected an id below " + std::to_string(options.scores.size()) + ", found " +
                     std::to_string(*options.unknown));
  }
  return std::unique_ptr<TokenModel>(std::make_unique<Unigram>(std::move(vocabulary), std::move(options)));
}

}  // namespace locus::text
