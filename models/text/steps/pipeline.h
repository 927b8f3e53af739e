// A tokenizer of parts: added tokens → normaliser → added tokens in normalised text → pre-tokenizer → token model →
// special tokens around it; and a decoder back.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "models/text/steps/added_tokens.h"
#include "models/text/steps/decoder.h"
#include "models/text/steps/normalizer.h"
#include "models/text/steps/pre_tokenizer.h"
#include "models/text/token_model.h"
#include "models/text/tokenizer.h"

namespace locus::text {

struct PipelineParts {
  Normalizers normalizers;
  PreTokenizers pre_tokenizers;
  std::unique_ptr<TokenModel> model;
  std::vector<AddedToken> added;
  std::vector<std::int64_t> before;  // special tokens of every text
  std::vector<std::int64_t> after;
  Decoders decoders;
};

// Errors: kTooLarge when normalising an added token exceeds the limits of a pattern.
Result<std::shared_ptr<const Tokenizer>> make_pipeline(PipelineParts parts);

// The id of a special token by name: an added token's, or the vocabulary's.
std::optional<std::int32_t> find_token(const PipelineParts& parts, const std::string& name);

}  // namespace locus::text
