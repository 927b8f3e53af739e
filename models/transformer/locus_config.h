// config.json of Locus's own checkpoints (`model_type: locus`): every field of a Spec, under the name that Hugging Face
// gives it where it has one. Tensors are named as Transformer::parameters() names them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/base/result.h"
#include "models/transformer/spec.h"

namespace locus::transformer {

// Writes fields with default values too, so that the file is complete. Layers that differ from the first are in
// `layers`, a list with one object per layer that holds the differing fields; `position_encoding` is one object, or a
// list with an entry per layer (null: none).
nlohmann::ordered_json locus_config(const Spec& spec);

// Missing fields take Spec{}'s values, but for vocabulary, width, layers and heads, which must be there; kv_heads
// defaults to heads, head_width to width / heads, inner to 4 · width. Errors: kBadInput naming file, field, expected
// and found; validate()'s.
Result<Spec> parse_locus_config(const nlohmann::json& config, const std::string& file);

}  // namespace locus::transformer
