#include "models/text/steps/pipeline.h"

#include <algorithm>
#include <deque>
#include <unordered_map>

#include "models/text/bpe/byte_level.h"
#include "models/text/utf8.h"

namespace locus::text {
namespace {

constexpr std::size_t kCachedWord = 48;  // bytes; longer words are rarely repeated

// A text during tokenization: the tokens so far, and the pieces of earlier words.
class Encoding {
 public:
  Encoding(const TokenModel& model, std::size_t text_bytes) : model_(model) { tokens_.reserve(text_bytes / 3 + 8); }

  void add(std::int64_t id, Range bytes) { tokens_.push_back({id, bytes}); }

  // `words` are kept until the end: the cache's keys are views of their text.
  Status add(Words words) {
    const Words& kept = kept_.emplace_back(std::move(words));
    const std::string_view text = kept.text.text();
    for (const Span& span : kept.spans) {
      LOCUS_TRY(const Slice slice, pieces_of(text.substr(span.begin, span.end - span.begin)));
      for (std::size_t n = slice.begin; n < slice.end; ++n) {
        const Piece& piece = pieces_[n];
        add(piece.id, kept.text.source(span.begin + piece.begin, span.begin + piece.end));
      }
    }
    return {};
  }

  std::vector<Token> take() { return std::move(tokens_); }

 private:
  struct Slice {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  Result<Slice> pieces_of(std::string_view word) {
    const bool cached = word.size() <= kCachedWord;
    if (cached) {
      if (const auto found = words_.find(word); found != words_.end()) {
        return found->second;
      }
    }
    pieces_.resize(cached_pieces_);
    LOCUS_CHECK(model_.encode(word, pieces_));
    const Slice slice{cached_pieces_, pieces_.size()};
    if (cached) {
      words_.emplace(word, slice);
      cached_pieces_ = pieces_.size();
    }
    return slice;
  }

  const TokenModel& model_;
  std::vector<Token> tokens_;
  std::deque<Words> kept_;
  std::unordered_map<std::string_view, Slice> words_;
  std::vector<Piece> pieces_;  // pieces of the cached words, followed by those of one long word
  std::size_t cached_pieces_ = 0;
};

std::size_t bytes_of(const std::vector<std::string>& tokens) {
  std::size_t bytes = 0;
  for (const std::string& token : tokens) {
    bytes += token.size() + 1;
  }
  return bytes;
}

class Pipeline final : public Tokenizer {
 public:
  explicit Pipeline(PipelineParts parts) : parts_(std::move(parts)) {
    end_ = parts_.model->vocabulary().end();
    for (const AddedToken& token : parts_.added) {
      by_id_.emplace(token.id, &token);
      end_ = std::max<std::int64_t>(end_, std::int64_t{token.id} + 1);
    }
  }

  Status find_added() {
    for (const AddedToken& token : parts_.added) {
      if (!token.normalized) {
        raw_.add(token.content, token);
        continue;
      }
      MappedText content(token.content, 0);
      LOCUS_CHECK(normalize(content));
      normalized_.add(content.text(), token);
    }
    return {};
  }

  Result<std::vector<Token>> encode(std::string_view text, bool special) const override {
    if (text.size() > kTextLimit) {
      return too_large("expected a text of at most " + std::to_string(kTextLimit) + " bytes, found " +
                       std::to_string(text.size()));
    }
    Encoding encoding(*parts_.model, text.size());
    if (special) {
      for (const std::int64_t id : parts_.before) {
        encoding.add(id, {0, 0});
      }
    }
    for (const Segment& segment : raw_.split(text)) {
      const Range bytes{segment.begin, segment.end};
      if (segment.token != nullptr) {
        encoding.add(segment.token->id, bytes);
      } else {
        LOCUS_CHECK(
            encode_part(MappedText(text.substr(segment.begin, segment.end - segment.begin), segment.begin), encoding));
      }
    }
    if (special) {
      const auto end = static_cast<std::int64_t>(text.size());
      for (const std::int64_t id : parts_.after) {
        encoding.add(id, {end, end});
      }
    }
    return encoding.take();
  }

  std::string decode(std::span<const std::int64_t> ids) const override {
    std::vector<std::string> tokens;
    for (const std::int64_t id : ids) {
      const std::string* name = name_of(id);
      if (name != nullptr && !is_special(id)) {
        tokens.push_back(*name);
      }
    }
    const std::size_t limit = growth_limit(bytes_of(tokens));
    for (const auto& decoder : parts_.decoders) {
      if (bytes_of(tokens) > limit) {
        break;  // replacement rules that only grow the text
      }
      decoder->apply(tokens);
    }
    const bool spaced = parts_.decoders.empty() && !parts_.pre_tokenizers.byte_level;
    std::string text;
    for (const std::string& token : tokens) {
      text += spaced && !text.empty() ? " " + token : token;
    }
    return text;
  }

  std::string label(std::int64_t id) const override {
    const std::string* name = name_of(id);
    if (name == nullptr) {
      return std::string("#").append(std::to_string(id));
    }
    if (is_special(id)) {
      return *name;
    }
    if (const auto byte = byte_of_name(*name)) {
      const char symbol = static_cast<char>(*byte);
      return readable({&symbol, 1});
    }
    return readable(*name);
  }

  bool is_special(std::int64_t id) const override {
    const auto found = by_id_.find(id);
    return found != by_id_.end() && found->second->special;
  }
  std::int64_t vocabulary() const override { return end_; }
  std::string kind() const override { return parts_.model->kind(); }

 private:
  Status normalize(MappedText& text) const {
    const std::size_t limit = growth_limit(text.size());
    for (const auto& step : parts_.normalizers) {
      LOCUS_CHECK(step->apply(text));
      if (text.size() > limit || text.size() > kTextLimit) {
        return too_large("the text grows beyond " + std::to_string(limit) + " bytes when it is normalised");
      }
    }
    return {};
  }

  Status encode_part(MappedText text, Encoding& encoding) const {
    LOCUS_CHECK(normalize(text));
    if (normalized_.empty()) {
      return encode_words(std::move(text), encoding);
    }
    for (const Segment& segment : normalized_.split(text.text())) {
      if (segment.token != nullptr) {
        encoding.add(segment.token->id, text.source(segment.begin, segment.end));
      } else {
        LOCUS_CHECK(encode_words(text.slice(segment.begin, segment.end), encoding));
      }
    }
    return {};
  }

  Status encode_words(MappedText text, Encoding& encoding) const {
    if (text.empty()) {
      return {};
    }
    Words words;
    words.spans.push_back({0, static_cast<std::uint32_t>(text.size())});
    words.text = std::move(text);
    for (const auto& step : parts_.pre_tokenizers.steps) {
      LOCUS_CHECK(step->apply(words));
    }
    return encoding.add(std::move(words));
  }

  const std::string* name_of(std::int64_t id) const {
    const auto found = by_id_.find(id);
    return found != by_id_.end() ? &found->second->content : parts_.model->vocabulary().entry(id);
  }

  PipelineParts parts_;
  AddedTokenFinder raw_;
  AddedTokenFinder normalized_;
  std::unordered_map<std::int64_t, const AddedToken*> by_id_;
  std::int64_t end_ = 0;
};

}  // namespace

Result<std::shared_ptr<const Tokenizer>> make_pipeline(PipelineParts parts) {
  static constexpr const char* kSpace = "▁";
  if (parts.pre_tokenizers.steps.empty() && parts.model->splits_before(kSpace)) {
    parts.pre_tokenizers.steps.push_back(
        cut_before_runs(kSpace));  // the same pieces, from words short enough to remember
  }
  auto pipeline = std::make_shared<Pipeline>(std::move(parts));
  LOCUS_CHECK(pipeline->find_added());
  return std::shared_ptr<const Tokenizer>(std::move(pipeline));
}

std::optional<std::int32_t> find_token(const PipelineParts& parts, const std::string& name) {
  for (const AddedToken& token : parts.added) {
    if (token.content == name) {
      return token.id;
    }
  }
  return parts.model->vocabulary().find(name);
}

}  // namespace locus::text
