// Normalisers: changes to a text before it is split into words (Unicode forms, case, accents, spaces).
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "models/text/mapped_text.h"

namespace locus::text {

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  // Errors: kTooLarge from a pattern.
  virtual Status apply(MappedText& text) const = 0;
};
using Normalizers = std::vector<std::unique_ptr<const Normalizer>>;

// BERT's: drop control characters and turn white space into spaces, spaces around CJK ideographs, strip accents, lower.
struct BertNormalizerOptions {
  bool clean_text = true;
  bool space_cjk = true;
  bool strip_accents = true;
  bool lowercase = true;
};
std::unique_ptr<const Normalizer> bert_normalizer(const BertNormalizerOptions& options);

// The "normalizer" of a tokenizer.json (null: none): NFC, NFD, NFKC, NFKD, Lowercase, Strip, StripAccents,
// BertNormalizer, Prepend, Replace, Precompiled, Sequence. Errors: kUnsupported naming another one.
Result<Normalizers> parse_normalizer(const nlohmann::json& value, const std::string& where);

}  // namespace locus::text
