// config.json of Locus's own checkpoints (`model_type: locus`): every field of a Spec, under the name that Hugging Face
// gives it where it has one. Tensors are named as Transformer::parameters() names them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/base/result.h"
#include "models/transformer/spec.h"

namespace locus::transformer {

// Fields whose values are Spec{}'s are written too, so that the file says everything. Layers that are not as the first
// one are in `layers`, a list with an object a layer of the fields that differ; `position_encoding` is one object, or a
// list with an entry per layer (null: none).
nlohmann::ordered_json locus_config(const Spec& spec);

// Missing fields take Spec{}'s values, but for vocabulary, width, layers and heads, which must be there; kv_heads
// defaults to heads, head_width to width / heads, inner to 4 · width. Errors: kBadInput naming file, field, expected
// and found; validate()'s.
Result<Spec> parse_locus_config(const nlohmann::json& config, const std::string& file);

}  // namespace locus::transformer
