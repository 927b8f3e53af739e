#include "models/text/steps/pre_tokenizer.h"

#include <functional>
#include <utility>

#include "models/text/bpe/byte_level.h"
#include "models/text/unicode.h"
#include "models/text/utf8.h"

namespace locus::text {

const char* const kGpt2Pattern = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
const char* const kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
const char* const kQwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

namespace {

// Splits every word into fragments and joins them by the behaviour.
class Splitter : public PreTokenizer {
 public:
  explicit Splitter(Behaviour behaviour) : behaviour_(behaviour) {}

  Status apply(Words& words) const override {
    std::vector<Span> cut;
    cut.reserve(words.spans.size());
    std::vector<Fragment> fragments;
    for (const Span& word : words.spans) {
      fragments.clear();
      LOCUS_CHECK(split(words.text.text(), word, fragments));
      join_fragments(fragments, behaviour_, cut);
    }
    words.spans = std::move(cut);
    return {};
  }

 private:
  virtual Status split(std::string_view text, Span word, std::vector<Fragment>& fragments) const = 0;

  Behaviour behaviour_;
};

class PatternSplitter final : public Splitter {
 public:
  PatternSplitter(Pattern pattern, Behaviour behaviour, bool invert)
      : Splitter(behaviour), pattern_(std::move(pattern)), invert_(invert) {}

 private:
  Status split(std::string_view text, Span word, std::vector<Fragment>& fragments) const override {
    LOCUS_CHECK(pattern_.split(text, word.begin, word.end, fragments));
    for (Fragment& fragment : fragments) {
      fragment.match = fragment.match != invert_;
    }
    return {};
  }

  Pattern pattern_;
  bool invert_;
};

class RunCutter final : public Splitter {
 public:
  explicit RunCutter(std::string space) : Splitter(Behaviour::kIsolated), space_(std::move(space)) {}

 private:
  Status split(std::string_view text, Span word, std::vector<Fragment>& fragments) const override {
    const std::string_view bytes = text.substr(0, word.end);
    std::uint32_t begin = word.begin;
    std::size_t run_end = word.begin;  // end of the last space
    for (std::size_t at = bytes.find(space_, begin); at != std::string_view::npos; at = bytes.find(space_, run_end)) {
      if (at > begin && at != run_end) {
        fragments.push_back({begin, static_cast<std::uint32_t>(at), true});
        begin = static_cast<std::uint32_t>(at);
      }
      run_end = at + space_.size();
    }
    fragments.push_back({begin, word.end, true});
    return {};
  }

  std::string space_;
};

// Classes of characters; a run of one class without `single` is one fragment.
struct CharacterClass {
  int kind = 0;
  bool match = false;
  bool single = false;
};

class ClassSplitter final : public Splitter {
 public:
  ClassSplitter(std::function<CharacterClass(char32_t)> classify, Behaviour behaviour)
      : Splitter(behaviour), classify_(std::move(classify)) {}

 private:
  Status split(std::string_view text, Span word, std::vector<Fragment>& fragments) const override {
    int last = -1;
    for (std::uint32_t at = word.begin; at < word.end;) {
      const Character character = character_at(text.substr(0, word.end), at);
      const CharacterClass found = classify_(character.valid ? character.code : 0xFFFD);
      const std::uint32_t end = at + character.bytes;
      if (found.kind == last && !found.single) {
        fragments.back().end = end;
      } else {
        fragments.push_back({at, end, found.match});
      }
      last = found.kind;
      at = end;
    }
    return {};
  }

  std::function<CharacterClass(char32_t)> classify_;
};

std::unique_ptr<const PreTokenizer> classes(std::function<CharacterClass(char32_t)> classify, Behaviour behaviour) {
  return std::make_unique<ClassSplitter>(std::move(classify), behaviour);
}

// Rewrites every word and drops the text between words.
template <class Write>
void rewrite_words(Words& words, const Write& write) {
  MappedTextBuilder builder(words.text);
  for (Span& word : words.spans) {
    const auto begin = static_cast<std::uint32_t>(builder.size());
    write(builder, word);
    word = {begin, static_cast<std::uint32_t>(builder.size())};
  }
  words.text = std::move(builder).finish();
}

class PrefixSpace final : public PreTokenizer {
 public:
  Status apply(Words& words) const override {
    const auto lacks_space = [&](const Span& word) { return words.text.text()[word.begin] != ' '; };
    if (std::none_of(words.spans.begin(), words.spans.end(), lacks_space)) {
      return {};
    }
    rewrite_words(words, [&](MappedTextBuilder& builder, const Span& word) {
      if (lacks_space(word)) {
        builder.replace(" ", word.begin, word.begin);
      }
      builder.copy(word.begin, word.end);
    });
    return {};
  }
};

enum class Prepend { kAlways, kFirst, kNever };

class Metaspace final : public PreTokenizer {
 public:
  Metaspace(std::string space, Prepend prepend, bool split)
      : space_(std::move(space)),
        prepend_(prepend),
        split_(split ? split_by(Pattern::literal(space_), Behaviour::kMergedWithNext, false) : nullptr) {}

  Status apply(Words& words) const override {
    const std::string_view text = words.text.text();
    rewrite_words(words, [&](MappedTextBuilder& builder, const Span& word) {
      const std::string_view bytes = text.substr(word.begin, word.end - word.begin);
      const bool prefixed = bytes.starts_with(' ') || bytes.starts_with(space_);
      const bool wanted =
          prepend_ == Prepend::kAlways || (prepend_ == Prepend::kFirst && words.text.origin(word.begin) == 0);
      if (wanted && !prefixed) {
        builder.replace(space_, word.begin, word.begin);
      }
      for (std::size_t at = word.begin; at < word.end;) {
        const std::size_t blank = std::min<std::size_t>(text.find(' ', at), word.end);
        builder.copy(at, blank);
        if (blank < word.end) {
          builder.replace(space_, blank, blank + 1);
        }
        at = blank + 1;
      }
    });
    return split_ ? split_->apply(words) : Status();
  }

 private:
  std::string space_;
  Prepend prepend_;
  std::unique_ptr<const PreTokenizer> split_;
};

Result<std::unique_ptr<const PreTokenizer>> metaspace_split(const JsonObject& object) {
  LOCUS_TRY(const std::string space, object.text("replacement", "▁"));
  LOCUS_TRY(const bool prefix, object.boolean("add_prefix_space", true));
  LOCUS_TRY(const std::string scheme, object.text("prepend_scheme", prefix ? "always" : "never"));
  LOCUS_TRY(const bool split, object.boolean("split", true));
  if (space.empty()) {
    return object.wrong("replacement", "a character");
  }
  if (scheme != "always" && scheme != "first" && scheme != "never") {
    return object.wrong("prepend_scheme", "always, first or never");
  }
  const Prepend prepend = scheme == "always" ? Prepend::kAlways : scheme == "first" ? Prepend::kFirst : Prepend::kNever;
  return std::unique_ptr<const PreTokenizer>(std::make_unique<Metaspace>(space, prepend, split));
}

Result<std::unique_ptr<const PreTokenizer>> parse_split(const JsonObject& object) {
  LOCUS_TRY(Pattern pattern, parse_pattern(object));
  LOCUS_TRY(const Behaviour behaviour, parse_behaviour(object, "Isolated"));
  LOCUS_TRY(const bool invert, object.boolean("invert", false));
  return split_by(std::move(pattern), behaviour, invert);
}

std::unique_ptr<const PreTokenizer> white_space_removed() {
  return classes(
      [](char32_t code) {
        return CharacterClass{is_white_space(code) ? 1 : 0, is_white_space(code)};
      },
      Behaviour::kRemoved);
}

std::unique_ptr<const PreTokenizer> punctuation(Behaviour behaviour) {
  return classes(
      [](char32_t code) {
        const bool match = is_punctuation(code);
        return CharacterClass{match ? 1 : 0, match, match};
      },
      behaviour);
}

Result<std::unique_ptr<const PreTokenizer>> one_pre_tokenizer(const std::string& type, const JsonObject& object) {
  if (type == "Split") {
    return parse_split(object);
  }
  if (type == "Metaspace") {
    return metaspace_split(object);
  }
  if (type == "BertPreTokenizer") {
    return bert_words();
  }
  if (type == "Whitespace") {
    return classes(
        [](char32_t code) {
          const bool white = is_white_space(code);
          return CharacterClass{white ? 0 : is_word(code) ? 1 : 2, white};
        },
        Behaviour::kRemoved);
  }
  if (type == "WhitespaceSplit") {
    return white_space_removed();
  }
  if (type == "Punctuation") {
    LOCUS_TRY(const Behaviour behaviour, parse_behaviour(object, "Isolated"));
    return punctuation(behaviour);
  }
  if (type == "Digits") {
    LOCUS_TRY(const bool single, object.boolean("individual_digits", false));
    return classes(
        [single](char32_t code) {
          const bool match = is_numeric(code);
          return CharacterClass{match ? 1 : 0, match, single && match};
        },
        Behaviour::kIsolated);
  }
  if (type == "CharDelimiterSplit") {
    LOCUS_TRY(std::string delimiter, object.text("delimiter", " "));
    return split_by(Pattern::literal(std::move(delimiter)), Behaviour::kRemoved, false);
  }
  return unsupported("pre_tokenizer \"" + type.substr(0, 80) + "\"", object.where());
}

// Converts words to byte-level characters and back, for steps after ByteLevel.
class Speller final : public PreTokenizer {
 public:
  explicit Speller(bool back) : back_(back) {}

  Status apply(Words& words) const override {
    const std::string_view text = words.text.text();
    rewrite_words(words, [&](MappedTextBuilder& builder, const Span& word) {
      for (std::size_t at = word.begin; at < word.end;) {
        const std::size_t bytes = back_ ? character_at(text.substr(0, word.end), at).bytes : 1;
        const std::string_view part = text.substr(at, bytes);
        builder.replace(back_ ? from_byte_level(part).value_or(std::string(part)) : to_byte_level(part), at,
                        at + bytes);
        at += bytes;
      }
    });
    return {};
  }

 private:
  bool back_;
};

// True for steps that only split: they may follow ByteLevel, whose characters other steps would not preserve.
bool only_cuts(const std::string& type) {
  return type == "Split" || type == "Digits" || type == "Punctuation" || type == "Whitespace" ||
         type == "WhitespaceSplit" || type == "CharDelimiterSplit";
}

Status add_byte_level(const JsonObject& object, PreTokenizers& result) {
  LOCUS_TRY(const bool prefix, object.boolean("add_prefix_space", true));
  LOCUS_TRY(const bool regex, object.boolean("use_regex", true));
  if (prefix) {
    result.steps.push_back(prefix_space());
  }
  if (regex) {
    LOCUS_TRY(Pattern pattern, Pattern::regex(kGpt2Pattern));
    result.steps.push_back(split_by(std::move(pattern), Behaviour::kIsolated, false));
  }
  result.byte_level = true;
  return {};
}

Status add_steps(const nlohmann::json& value, const std::string& where, PreTokenizers& result, bool& spelled) {
  LOCUS_TRY(const JsonObject object, JsonObject::of(value, where));
  const auto named = object.text("type", "");
  if (!named.ok()) {
    return named.error();
  }
  const std::string& type = *named;
  if (type == "Sequence") {
    LOCUS_TRY(const nlohmann::json* const members, object.array("pretokenizers"));
    for (const auto& member : *members) {
      LOCUS_CHECK(add_steps(member, where, result, spelled));
    }
    return {};
  }
  if (result.byte_level && !only_cuts(type)) {
    return unsupported("pre_tokenizer \"" + type.substr(0, 80) + "\" after ByteLevel", where);
  }
  if (result.byte_level && !std::exchange(spelled, true)) {
    result.steps.push_back(std::make_unique<Speller>(false));
  }
  if (type == "ByteLevel") {
    return add_byte_level(object, result);
  }
  LOCUS_TRY(auto step, one_pre_tokenizer(type, object));
  result.steps.push_back(std::move(step));
  return {};
}

}  // namespace

std::unique_ptr<const PreTokenizer> split_by(Pattern pattern, Behaviour behaviour, bool invert) {
  return std::make_unique<PatternSplitter>(std::move(pattern), behaviour, invert);
}

std::unique_ptr<const PreTokenizer> bert_words() {
  return classes(
      [](char32_t code) {
        const bool white = is_white_space(code);
        const bool mark = is_punctuation(code);
        return CharacterClass{white ? 0 : mark ? 1 : 2, white, mark};
      },
      Behaviour::kRemoved);
}

std::unique_ptr<const PreTokenizer> prefix_space() {
  return std::make_unique<PrefixSpace>();
}

std::unique_ptr<const PreTokenizer> cut_before_runs(std::string space) {
  return std::make_unique<RunCutter>(std::move(space));
}

Result<PreTokenizers> parse_pre_tokenizer(const nlohmann::json& value, const std::string& where) {
  PreTokenizers result;
  bool spelled = false;
  if (!value.is_null()) {
    LOCUS_CHECK(add_steps(value, where, result, spelled));
  }
  if (spelled) {
    result.steps.push_back(std::make_unique<Speller>(true));
  }
  return result;
}

}  // namespace locus::text
