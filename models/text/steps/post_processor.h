// The special tokens around a text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/base/result.h"
#include "models/text/steps/pipeline.h"

namespace locus::text {

// Sets parts.before and parts.after from the "post_processor" of a tokenizer.json (null: none): TemplateProcessing (its
// template of one text), BertProcessing, RobertaProcessing, ByteLevel (which only trims ranges), Sequence. Errors:
// kUnsupported naming another one; kBadInput for a template without the text or with an unknown token.
Status parse_post_processor(const nlohmann::json& value, const std::string& where, PipelineParts& parts);

}  // namespace locus::text
