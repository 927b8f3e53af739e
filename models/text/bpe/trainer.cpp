#include "models/text/bpe/trainer.h"

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "models/text/bpe/byte_level.h"
#include "models/text/steps/pattern.h"
#include "models/text/steps/pre_tokenizer.h"

namespace locus::text {
namespace {

constexpr std::int64_t kByteSymbols = 256;
constexpr std::int64_t kLargest = 65536;
constexpr std::int64_t kLeastCount = 2;

using Pair = std::pair<std::int32_t, std::int32_t>;

struct Word {
  std::vector<std::int32_t> ids;
  std::int64_t count = 0;
};

// A pair, and its count when it entered the queue.
struct MergeCandidate {
  std::int64_t count = 0;
  Pair pair;
  friend bool operator<(const MergeCandidate& a, const MergeCandidate& b) {
    return a.count != b.count ? a.count < b.count : a.pair > b.pair;
  }
};

Result<std::vector<Word>> words_of(std::span<const std::string_view> texts) {
  LOCUS_TRY(const Pattern pattern, Pattern::regex(kGpt2Pattern));
  std::map<std::string_view, std::int64_t> counts;
  constexpr std::size_t kPiece = std::size_t{1} << 16;  // a pattern's step limit grows with what it splits
  for (const std::string_view text : texts) {
    for (std::size_t begin = 0; begin < text.size();) {
      std::size_t end = std::min(begin + kPiece, text.size());
      const std::size_t line = end < text.size() ? text.rfind('\n', end) : std::string_view::npos;
      end = line != std::string_view::npos && line > begin ? line : end;
      const std::string_view piece = text.substr(begin, end - begin);
      std::vector<Fragment> fragments;
      LOCUS_CHECK(pattern.split(piece, 0, static_cast<std::uint32_t>(piece.size()), fragments));
      for (const Fragment& fragment : fragments) {
        ++counts[piece.substr(fragment.begin, fragment.end - fragment.begin)];
      }
      begin = end;
    }
  }
  std::vector<Word> words;
  for (const auto& [bytes, count] : counts) {
    Word word{{}, count};
    for (const char byte : bytes) {
      word.ids.push_back(static_cast<unsigned char>(byte));
    }
    words.push_back(std::move(word));
  }
  return words;
}

// Joins pairs one by one, keeping the counts of all pairs and the words each occurs in.
class Merger {
 public:
  explicit Merger(std::vector<Word> words) : words_(std::move(words)) {
    for (std::size_t n = 0; n < words_.size(); ++n) {
      count_word(n, 1);
    }
    for (const auto& [pair, count] : counts_) {
      queue_.push({count, pair});
    }
  }

  // The next pair, or none that occurs often enough.
  bool next(Pair& pair) {
    while (!queue_.empty()) {
      const MergeCandidate best = queue_.top();
      queue_.pop();
      const std::int64_t now = counts_[best.pair];
      if (now == best.count && now >= kLeastCount) {
        pair = best.pair;
        return true;
      }
      if (now >= kLeastCount && now < best.count) {
        queue_.push({now, best.pair});
      }
    }
    return false;
  }

  void join(const Pair& pair, std::int32_t id) {
    const std::set<std::size_t> touched = std::move(places_[pair]);
    std::set<Pair> changed;
    for (const std::size_t n : touched) {
      count_word(n, -1);
      std::vector<std::int32_t>& ids = words_[n].ids;
      std::vector<std::int32_t> joined;
      for (std::size_t m = 0; m < ids.size(); ++m) {
        if (m + 1 < ids.size() && Pair{ids[m], ids[m + 1]} == pair) {
          joined.push_back(id);
          ++m;
        } else {
          joined.push_back(ids[m]);
        }
      }
      ids = std::move(joined);
      count_word(n, 1);
      for (std::size_t m = 0; m + 1 < ids.size(); ++m) {
        changed.insert({ids[m], ids[m + 1]});
      }
    }
    for (const Pair& other : changed) {
      queue_.push({counts_[other], other});
    }
  }

 private:
  void count_word(std::size_t n, std::int64_t sign) {
    const Word& word = words_[n];
    for (std::size_t m = 0; m + 1 < word.ids.size(); ++m) {
      const Pair pair{word.ids[m], word.ids[m + 1]};
      counts_[pair] += sign * word.count;
      if (sign > 0) {
        places_[pair].insert(n);
      }
    }
  }

  std::vector<Word> words_;
  std::map<Pair, std::int64_t> counts_;
  std::map<Pair, std::set<std::size_t>> places_;  // a word may have lost the pair again
  std::priority_queue<MergeCandidate> queue_;
};

}  // namespace

Result<std::string> train_byte_bpe(std::span<const std::string_view> texts, std::int64_t vocabulary) {
  if (vocabulary < kByteSymbols || vocabulary > kLargest) {
    return usage("vocabulary: expected " + std::to_string(kByteSymbols) + " to " + std::to_string(kLargest) +
                 ", found " + std::to_string(vocabulary));
  }
  LOCUS_TRY(std::vector<Word> words, words_of(texts));
  Merger merger(std::move(words));
  std::vector<std::string> entries;
  for (int byte = 0; byte < kByteSymbols; ++byte) {
    const char value = static_cast<char>(static_cast<std::uint8_t>(byte));
    entries.push_back(to_byte_level({&value, 1}));
  }
  std::vector<std::pair<std::string, std::string>> merges;
  std::set<std::string> known(entries.begin(), entries.end());
  for (Pair pair; static_cast<std::int64_t>(entries.size()) < vocabulary && merger.next(pair);) {
    const std::string& left = entries[static_cast<std::size_t>(pair.first)];
    const std::string& right = entries[static_cast<std::size_t>(pair.second)];
    std::string both = left + right;
    // If the same bytes already have an id from another pair, the pair is joined to that id, which stays the only
    // spelling.
    const bool fresh = known.insert(both).second;
    const auto id = fresh
                        ? static_cast<std::int32_t>(entries.size())
                        : static_cast<std::int32_t>(std::find(entries.begin(), entries.end(), both) - entries.begin());
    merges.emplace_back(left, right);
    merger.join(pair, id);
    if (fresh) {
      entries.push_back(std::move(both));
    }
  }
  return byte_level_tokenizer_json(entries, merges, Segmentation::kWords);
}

}  // namespace locus::text
