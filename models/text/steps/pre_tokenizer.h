// Pre-tokenizers: split a text into words, which the token model sees one at a time.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "models/text/mapped_text.h"
#include "models/text/steps/split.h"

namespace locus::text {

// A text and its words, in order, not overlapping.
struct Words {
  MappedText text;
  std::vector<Span> spans;
};

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  // Errors: kTooLarge from a pattern.
  virtual Status apply(Words& words) const = 0;
};

struct PreTokenizers {
  std::vector<std::unique_ptr<const PreTokenizer>> steps;
  bool byte_level = false;  // the last step spells words byte by byte: the model's entries are byte strings
};

// Split patterns of GPT-2, Llama 3 and Qwen 2, for tokenizers whose files do not contain them.
extern const char* const kGpt2Pattern;
extern const char* const kLlama3Pattern;
extern const char* const kQwen2Pattern;

// Splits at a pattern.
std::unique_ptr<const PreTokenizer> split_by(Pattern pattern, Behaviour behaviour, bool invert);
// White space removed, punctuation isolated.
std::unique_ptr<const PreTokenizer> bert_words();
// A space before every word that does not begin with one.
std::unique_ptr<const PreTokenizer> prefix_space();
// Splits before every run of `space`.
std::unique_ptr<const PreTokenizer> cut_before_runs(std::string space);

// The "pre_tokenizer" of a tokenizer.json (null: none): ByteLevel, Split, Metaspace, BertPreTokenizer, Whitespace,
// WhitespaceSplit, Punctuation, Digits, CharDelimiterSplit, Sequence. Steps after ByteLevel see its characters, not the
// text's (a Digits there takes byte B2 for the digit ²). Errors: kUnsupported naming another one, or one after
// ByteLevel that does more than split.
Result<PreTokenizers> parse_pre_tokenizer(const nlohmann::json& value, const std::string& where);

}  // namespace locus::text
