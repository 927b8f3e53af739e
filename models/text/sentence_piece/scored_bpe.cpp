#include <algorithm>
#include <queue>

#include "models/text/token_model.h"
#include "models/text/utf8.h"

namespace locus::text {
namespace {

constexpr std::string_view kSpace = "▁";
constexpr std::size_t kNone = ~std::size_t{0};

struct Joined {
  std::size_t begin = 0;
  std::size_t end = 0;  // begin: joined to another
  std::size_t previous = kNone;
  std::size_t next = kNone;
  bool kept = false;
};

// Two neighbours at a place; outdated once either, and so their length, has changed.
struct Join {
  float score = 0;
  std::size_t left = 0;
  std::size_t right = 0;
  std::size_t bytes = 0;
  friend bool operator<(const Join& a, const Join& b) {
    return a.score < b.score || (a.score == b.score && a.left > b.left);
  }
};

class ScoredBpe final : public TokenModel {
 public:
  ScoredBpe(Vocabulary vocabulary, ScoredBpeOptions options)
      : vocabulary_(std::move(vocabulary)), options_(std::move(options)) {
    bool cuts = std::find(options_.unused.begin(), options_.unused.end(), true) == options_.unused.end();
    for (const auto& [entry, id] : vocabulary_.entries()) {
      longest_ = std::max(longest_, entry.size());
      std::string_view text = entry;
      while (text.starts_with(kSpace)) {
        text.remove_prefix(kSpace.size());
      }
      cuts = cuts && text.find(kSpace) == std::string_view::npos;
    }
    cuts_ = cuts;
  }

  // True if no entry crosses the end of a word: then words can be tokenized separately and cached.
  Status encode(std::string_view word, std::vector<Piece>& pieces) const override {
    for (std::size_t begin = 0; begin < word.size();) {
      std::size_t end = word.size();
      if (cuts_) {
        end = begin;
        while (word.substr(end).starts_with(kSpace)) {
          end += kSpace.size();
        }
        end = std::min(word.find(kSpace, end), word.size());
      }
      encode_part(word.substr(begin, end - begin), begin, pieces);
      begin = end;
    }
    return {};
  }

  const Vocabulary& vocabulary() const override { return vocabulary_; }
  std::string kind() const override { return "BPE"; }

 private:
  using Queue = std::priority_queue<Join>;
  using Parts = std::unordered_map<std::int32_t, std::size_t>;  // bytes of the left part of an unused entry

  void encode_part(std::string_view text, std::size_t offset, std::vector<Piece>& pieces) const {
    std::vector<Joined> symbols = split(text);
    Parts parts;
    if (options_.joins) {
      join(text, symbols, parts);
    }
    for (std::size_t at = symbols.empty() ? kNone : 0; at != kNone; at = symbols[at].next) {
      emit(text, symbols[at], parts, offset, pieces);
    }
  }

  std::vector<Joined> split(std::string_view text) const {
    std::vector<Joined> symbols;
    for (std::size_t at = 0; at < text.size();) {
      Joined symbol{at, at, symbols.size() - 1, symbols.size() + 1};
      const auto match = options_.kept != nullptr ? options_.kept->longest_at(text, at) : AddedTokenFinder::Match{};
      if (options_.start == ScoredBpeOptions::Start::kWords) {
        symbol.end = std::min(text.find(kSpace, at + 1), text.size());
      } else if (match.token != nullptr) {
        symbol.kept = true;
        symbol.end = match.end;
      } else {
        symbol.end = at + character_at(text, at).bytes;
      }
      at = symbol.end;
      symbols.push_back(symbol);
    }
    if (!symbols.empty()) {
      symbols.front().previous = kNone;
      symbols.back().next = kNone;
    }
    return symbols;
  }

  void join(std::string_view text, std::vector<Joined>& symbols, Parts& parts) const {
    Queue queue;
    for (std::size_t at = 1; at < symbols.size(); ++at) {
      look(text, symbols, at - 1, at, queue, parts);
    }
    while (!queue.empty()) {
      const Join best = queue.top();
      queue.pop();
      Joined& left = symbols[best.left];
      Joined& right = symbols[best.right];
      if (left.begin == left.end || right.begin == right.end || right.end - left.begin != best.bytes) {
        continue;
      }
      left.end = right.end;
      left.next = right.next;
      if (right.next != kNone) {
        symbols[right.next].previous = best.left;
      }
      right.end = right.begin;
      look(text, symbols, left.previous, best.left, queue, parts);
      look(text, symbols, best.left, left.next, queue, parts);
    }
  }

  void look(std::string_view text, const std::vector<Joined>& symbols, std::size_t a, std::size_t b, Queue& queue,
            Parts& parts) const {
    if (a == kNone || b == kNone || symbols[a].kept || symbols[b].kept) {
      return;
    }
    const std::size_t begin = symbols[a].begin;
    const std::size_t bytes = symbols[b].end - begin;
    const auto id = bytes <= longest_ ? vocabulary_.find(text.substr(begin, bytes)) : std::nullopt;
    if (!id) {
      return;
    }
    queue.push({options_.scores[static_cast<std::size_t>(*id)], a, b, bytes});
    if (options_.unused[static_cast<std::size_t>(*id)]) {
      parts[*id] = symbols[a].end - begin;
    }
  }

  void emit(std::string_view text, const Joined& symbol, const Parts& parts, std::size_t offset,
            std::vector<Piece>& pieces) const {
    std::vector<std::pair<std::size_t, std::size_t>> open{{symbol.begin, symbol.end}};
    while (!open.empty()) {
      const auto [begin, end] = open.back();
      open.pop_back();
      const std::int32_t id = vocabulary_.find(text.substr(begin, end - begin)).value_or(options_.unknown);
      const auto part = options_.unused[static_cast<std::size_t>(id)] ? parts.find(id) : parts.end();
      if (part != parts.end()) {
        open.emplace_back(begin + part->second, end);
        open.emplace_back(begin, begin + part->second);
      } else {
        pieces.push_back({id, static_cast<std::uint32_t>(offset + begin), static_cast<std::uint32_t>(offset + end)});
      }
    }
  }

  Vocabulary vocabulary_;
  ScoredBpeOptions options_;
  std::size_t longest_ = 0;  // bytes of the longest entry
  bool cuts_ = false;        // no entry has a space after anything else
};

}  // namespace

std::unique_ptr<TokenModel> make_scored_bpe(Vocabulary vocabulary, ScoredBpeOptions options) {
  return std::make_unique<ScoredBpe>(std::move(vocabulary), std::move(options));
}

}  // namespace locus::text
