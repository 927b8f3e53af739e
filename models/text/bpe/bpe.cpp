#include <algorithm>
#include <queue>

#include "models/text/flat_map.h"
#include "models/text/token_model.h"
#include "models/text/utf8.h"

namespace locus::text {
namespace {

// Words of up to this many symbols are merged by scanning for the best pair; longer ones keep a queue.
constexpr std::size_t kScanLimit = 24;

struct Symbol {
  std::int32_t id = 0;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::int32_t previous = -1;
  std::int32_t next = -1;
  bool alive = true;
};

// A pair at a place; outdated once either symbol has changed.
struct Candidate {
  std::uint32_t rank = 0;
  std::int32_t at = 0;
  std::int32_t left = 0;
  std::int32_t right = 0;
  std::uint32_t joined = 0;
  friend bool operator>(const Candidate& a, const Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.at > b.at;
  }
};

class Bpe final : public TokenModel {
 public:
  Bpe(Vocabulary vocabulary, BpeOptions options) : vocabulary_(std::move(vocabulary)), options_(std::move(options)) {
    for (unsigned byte = 0; byte < 256; ++byte) {
      const char value = static_cast<char>(static_cast<std::uint8_t>(byte));
      single_[byte] = vocabulary_.find({&value, 1}).value_or(-1);
    }
    if (options_.byte_fallback) {
      fallback_ = vocabulary_.fallback_bytes();
    }
  }

  Status add_merge(const std::string& left, const std::string& right, std::uint32_t rank) {
    const auto a = vocabulary_.find(left);
    const auto b = vocabulary_.find(right);
    const bool continues = right.starts_with(options_.continuing_prefix);
    const auto joined = vocabulary_.find(left + (continues ? right.substr(options_.continuing_prefix.size()) : right));
    if (!a || !b || !joined) {
      const std::string& missing = !a ? left : !b ? right : left + right;
      return bad_input("merge " + std::to_string(rank) + " (\"" + left.substr(0, 40) + "\" \"" + right.substr(0, 40) +
                       "\"): \"" + missing.substr(0, 80) + "\" is not in the vocabulary");
    }
    add_pair(*a, *b, rank, *joined);
    return {};
  }

  void add_pair(std::int32_t a, std::int32_t b, std::uint32_t rank, std::int32_t joined) {
    merges_.insert(static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b),
                   {rank, static_cast<std::uint32_t>(joined)});
  }

  void reserve(std::size_t merges) { merges_.reserve(merges); }

  Status encode(std::string_view word, std::vector<Piece>& pieces) const override {
    if (options_.ignore_merges) {
      if (const auto id = vocabulary_.find(word)) {
        pieces.push_back({*id, 0, static_cast<std::uint32_t>(word.size())});
        return {};
      }
    }
    std::vector<Symbol> symbols;
    symbols.reserve(word.size());
    if (options_.bytes) {
      byte_symbols(word, symbols);
    } else {
      character_symbols(word, symbols);
    }
    if (symbols.size() <= kScanLimit) {
      merge_by_scan(symbols);
    } else {
      merge_by_queue(symbols);
    }
    for (const Symbol& symbol : symbols) {
      if (symbol.alive) {
        pieces.push_back({symbol.id, symbol.begin, symbol.end});
      }
    }
    return {};
  }

  const Vocabulary& vocabulary() const override { return vocabulary_; }
  std::string kind() const override { return "BPE"; }

  bool splits_before(std::string_view space) const override {
    if (options_.bytes || options_.ignore_merges || !options_.word_suffix.empty() ||
        !options_.continuing_prefix.empty() || !vocabulary_.find(space)) {
      return false;
    }
    // True for an entry with spaces only at its start.
    return std::all_of(vocabulary_.entries().begin(), vocabulary_.entries().end(), [&](const auto& entry) {
      std::string_view text = entry.first;
      while (text.starts_with(space)) {
        text.remove_prefix(space.size());
      }
      return text.find(space) == std::string_view::npos;
    });
  }

 private:
  void byte_symbols(std::string_view word, std::vector<Symbol>& symbols) const {
    for (std::uint32_t at = 0; at < word.size(); ++at) {
      const std::int32_t id = symbol_id(word, at, at + 1);
      if (id >= 0) {
        symbols.push_back({id, at, at + 1});
      } else {
        unknown_symbol(at, at + 1, symbols);
      }
    }
  }

  void character_symbols(std::string_view word, std::vector<Symbol>& symbols) const {
    for (std::uint32_t at = 0; at < word.size();) {
      const Character character = character_at(word, at);
      const std::uint32_t end = at + character.bytes;
      const std::int32_t id = character.valid ? symbol_id(word, at, end) : -1;
      if (id >= 0) {
        symbols.push_back({id, at, end});
      } else if (fallback_) {
        for (std::uint32_t byte = at; byte < end; ++byte) {
          symbols.push_back({(*fallback_)[static_cast<std::uint8_t>(word[byte])], byte, byte + 1});
        }
      } else {
        unknown_symbol(at, end, symbols);
      }
      at = end;
    }
  }

  std::int32_t symbol_id(std::string_view word, std::uint32_t begin, std::uint32_t end) const {
    const bool prefixed = begin > 0 && !options_.continuing_prefix.empty();
    const bool suffixed = end == word.size() && !options_.word_suffix.empty();
    const std::string_view character = word.substr(begin, end - begin);
    if (prefixed || suffixed) {
      const std::string entry = (prefixed ? options_.continuing_prefix : std::string()) + std::string(character) +
                                (suffixed ? options_.word_suffix : std::string());
      return vocabulary_.find(entry).value_or(-1);
    }
    return character.size() == 1 ? single_[static_cast<std::uint8_t>(character.front())]
                                 : vocabulary_.find(character).value_or(-1);
  }

  // Without an unknown token the bytes are left out, as the format's own reader does.
  void unknown_symbol(std::uint32_t begin, std::uint32_t end, std::vector<Symbol>& symbols) const {
    if (!options_.unknown) {
      return;
    }
    if (options_.fuse_unknown && !symbols.empty() && symbols.back().id == *options_.unknown &&
        symbols.back().end == begin) {
      symbols.back().end = end;
    } else {
      symbols.push_back({*options_.unknown, begin, end});
    }
  }

  const FlatMap::Value* merge_of(const Symbol& left, const Symbol& right) const {
    return merges_.find(static_cast<std::uint32_t>(left.id), static_cast<std::uint32_t>(right.id));
  }

  void merge_by_scan(std::vector<Symbol>& symbols) const {
    constexpr std::uint32_t kNone = ~std::uint32_t{0};
    std::array<FlatMap::Value, kScanLimit> pairs;
    const auto look = [&](std::size_t at) {
      const auto* merge = at + 1 < symbols.size() ? merge_of(symbols[at], symbols[at + 1]) : nullptr;
      pairs[at] = merge != nullptr ? *merge : FlatMap::Value{kNone, 0};
    };
    for (std::size_t at = 0; at < symbols.size(); ++at) {
      look(at);
    }
    while (symbols.size() > 1) {
      const auto last = pairs.begin() + static_cast<std::ptrdiff_t>(symbols.size()) - 1;
      const auto best = std::min_element(pairs.begin(), last, [](auto a, auto b) { return a.first < b.first; });
      if (best->first == kNone) {
        return;
      }
      const auto at = static_cast<std::size_t>(best - pairs.begin());
      symbols[at].id = static_cast<std::int32_t>(best->second);
      symbols[at].end = symbols[at + 1].end;
      symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(at) + 1);
      std::copy(best + 2, pairs.begin() + static_cast<std::ptrdiff_t>(symbols.size()) + 1, best + 1);
      look(at);
      if (at > 0) {
        look(at - 1);
      }
    }
  }

  void merge_by_queue(std::vector<Symbol>& symbols) const {
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
    const auto place = [&](std::int32_t at) -> Symbol& { return symbols[static_cast<std::size_t>(at)]; };
    const auto look = [&](std::int32_t at) {
      if (at < 0 || place(at).next < 0) {
        return;
      }
      const Symbol& right = place(place(at).next);
      if (const auto* merge = merge_of(place(at), right)) {
        queue.push({merge->first, at, place(at).id, right.id, merge->second});
      }
    };
    const auto count = static_cast<std::int32_t>(symbols.size());
    for (std::int32_t at = 0; at < count; ++at) {
      place(at).previous = at - 1;
      place(at).next = at + 1 < count ? at + 1 : -1;
    }
    for (std::int32_t at = 0; at + 1 < count; ++at) {
      look(at);
    }
    while (!queue.empty()) {
      const Candidate best = queue.top();
      queue.pop();
      Symbol& left = place(best.at);
      if (!left.alive || left.id != best.left || left.next < 0 || place(left.next).id != best.right) {
        continue;
      }
      Symbol& right = place(left.next);
      left.id = static_cast<std::int32_t>(best.joined);
      left.end = right.end;
      left.next = right.next;
      right.alive = false;
      if (left.next >= 0) {
        place(left.next).previous = best.at;
      }
      look(best.at);
      look(left.previous);
    }
  }

  Vocabulary vocabulary_;
  BpeOptions options_;
  FlatMap merges_;
  std::array<std::int32_t, 256> single_{};  // entries of one byte
  std::optional<std::array<std::int32_t, 256>> fallback_;
};

}  // namespace

Result<std::unique_ptr<TokenModel>> make_bpe(Vocabulary vocabulary, const Merges& merges, const BpeOptions& options) {
  auto model = std::make_unique<Bpe>(std::move(vocabulary), options);
  model->reserve(merges.size());
  std::uint32_t rank = 0;
  for (const auto& [left, right] : merges) {
    LOCUS_CHECK(model->add_merge(left, right, rank));
    ++rank;
  }
  return std::unique_ptr<TokenModel>(std::move(model));
}

Result<std::unique_ptr<TokenModel>> make_rank_bpe(Vocabulary vocabulary) {
  BpeOptions options;
  options.bytes = true;
  options.ignore_merges = true;
  auto model = std::make_unique<Bpe>(std::move(vocabulary), options);
  const Vocabulary& known = model->vocabulary();
  for (const auto& [entry, id] : known.entries()) {
    for (std::size_t cut = 1; cut < entry.size(); ++cut) {
      const auto left = known.find(std::string_view(entry).substr(0, cut));
      const auto right = known.find(std::string_view(entry).substr(cut));
      if (left && right) {
        model->add_pair(*left, *right, static_cast<std::uint32_t>(id), id);
      }
    }
  }
  return std::unique_ptr<TokenModel>(std::move(model));
}

}  // namespace locus::text
