#include "models/atlas/windows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "models/training/random.h"

namespace locus::models::atlas {

namespace {

using training::Random;

// Keys of the streams of random numbers.
enum Stream : std::uint64_t { kStart = 1, kShuffle = 2 };

constexpr std::int64_t kBytesPerToken = 6;  // a first guess
constexpr std::int64_t kMargin = 8;         // tokens before a cut, which may differ from those of the whole text
constexpr std::int64_t kLongestWord = 256;  // bytes searched for the start of a word

constexpr std::array<const char*, 5> kEndsOfText{"<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "[SEP]"};

bool is_space(char byte) {
  return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r';
}

// True at the first byte of a UTF-8 character.
bool begins_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
}

}  // namespace

Result<Windows> Windows::make(const Corpus& corpus, Encode encode, const WindowOptions& options) {
  Windows windows(corpus, std::move(encode), options);
  LOCUS_CHECK(windows.look_at_tokenizer());
  const auto special = static_cast<std::int64_t>(windows.front_.size() + windows.back_.size());
  if (options.windows < 1 || options.length < special + 2) {
    return bad_input("atlas: expected at least one window of at least " + std::to_string(special + 2) +
                     " tokens, found " + std::to_string(options.windows) + " of " + std::to_string(options.length));
  }
  // A stride near the golden section, coprime to the count: visits every stretch once, evenly from the beginning.
  windows.stride_ = std::max<std::int64_t>(std::llround(static_cast<double>(options.windows) * 0.6180339887), 1);
  while (std::gcd(windows.stride_, options.windows) != 1) {
    ++windows.stride_;
  }
  return windows;
}

Status Windows::look_at_tokenizer() {
  LOCUS_TRY(const std::vector<TokenInfo> probe, encode_("a"));
  std::size_t begin = 0;
  while (begin < probe.size() && probe[begin].bytes.empty()) {
    front_.push_back(probe[begin++].id);
  }
  std::size_t end = probe.size();
  while (end > begin && probe[end - 1].bytes.empty()) {
    --end;
  }
  for (std::size_t n = end; n < probe.size(); ++n) {
    back_.push_back(probe[n].id);
  }
  for (const char* name : kEndsOfText) {
    const auto tokens = plain(name);
    if (tokens.ok() && tokens->size() == 1 && !end_of_text_) {
      end_of_text_ = tokens->front();
    }
  }
  return {};
}

Result<std::vector<std::int64_t>> Windows::plain(const std::string& text) const {
  LOCUS_TRY(const std::vector<TokenInfo> tokens, encode_(text));
  std::vector<std::int64_t> ids;
  for (std::size_t n = front_.size(); n + back_.size() < tokens.size(); ++n) {
    ids.push_back(tokens[n].id);
  }
  return ids;
}

Result<std::vector<std::int64_t>> Windows::tokens_from(std::size_t file, std::int64_t offset,
                                                       std::int64_t count) const {
  for (std::int64_t bytes = (count + kMargin) * kBytesPerToken;; bytes *= 2) {
    LOCUS_TRY(const std::string text, corpus_->read(file, offset, bytes));
    if (text.empty()) {
      return std::vector<std::int64_t>{};
    }
    LOCUS_TRY(std::vector<std::int64_t> ids, plain(text));
    const bool whole = offset + bytes >= corpus_->size(file);
    if (whole || static_cast<std::int64_t>(ids.size()) >= count + kMargin) {
      ids.resize(std::min(ids.size(), static_cast<std::size_t>(count)));
      return ids;
    }
  }
}

Result<std::int64_t> Windows::word_from(std::size_t file, std::int64_t offset) const {
  if (offset == 0) {
    return offset;
  }
  // Starts one byte earlier, so that a word that begins at `offset` is found.
  LOCUS_TRY(const std::string text, corpus_->read(file, offset - 1, kLongestWord));
  for (std::size_t n = 1; n < text.size(); ++n) {
    if (is_space(text[n - 1]) && !is_space(text[n])) {
      return offset - 1 + static_cast<std::int64_t>(n);
    }
  }
  for (std::size_t n = 1; n < text.size(); ++n) {
    if (begins_character(text[n])) {
      return offset - 1 + static_cast<std::int64_t>(n);
    }
  }
  return offset;
}

Result<Window> Windows::at(std::int64_t index) const {
  using Wide = __int128;
  const auto stretch = static_cast<std::int64_t>(static_cast<Wide>(index) * stride_ % options_.windows);
  const auto begin = static_cast<std::int64_t>(static_cast<Wide>(corpus_->bytes()) * stretch / options_.windows);
  const auto end = static_cast<std::int64_t>(static_cast<Wide>(corpus_->bytes()) * (stretch + 1) / options_.windows);
  Random random{options_.seed, kStart, static_cast<std::uint64_t>(stretch)};
  const std::int64_t start = begin + (end > begin ? random.below(end - begin) : 0);
  auto [file, offset] = corpus_->place(start);
  LOCUS_TRY(offset, word_from(file, offset));

  Window window{front_, static_cast<std::int64_t>(front_.size()), static_cast<std::int64_t>(back_.size())};
  const auto wanted = static_cast<std::size_t>(options_.length) - back_.size();
  std::size_t empty = 0;  // files in a row without a token
  while (window.ids.size() < wanted) {
    LOCUS_TRY(const auto ids, tokens_from(file, offset, static_cast<std::int64_t>(wanted - window.ids.size())));
    window.ids.insert(window.ids.end(), ids.begin(), ids.end());
    empty = ids.empty() ? empty + 1 : 0;
    if (empty > corpus_->files()) {
      return bad_input("expected text, found a corpus without a token", corpus_->name(file));
    }
    if (!ids.empty() && window.ids.size() < wanted && end_of_text_) {
      window.ids.push_back(*end_of_text_);
    }
    file = (file + 1) % corpus_->files();
    offset = 0;
  }
  window.ids.insert(window.ids.end(), back_.begin(), back_.end());
  return window;
}

Window Windows::shuffled(const Window& window, std::int64_t index) const {
  Window other = window;
  Random random{options_.seed, kShuffle, static_cast<std::uint64_t>(index)};
  const auto first = static_cast<std::size_t>(window.front);
  const std::size_t count = window.ids.size() - first - static_cast<std::size_t>(window.back);
  for (std::size_t n = count; n > 1; --n) {  // Fisher and Yates
    const auto chosen = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(n)));
    std::swap(other.ids[first + n - 1], other.ids[first + chosen]);
  }
  return other;
}

}  // namespace locus::models::atlas
