// RoPE's scaling as a GGUF file says it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/base/result.h"
#include "models/formats/tensor_source.h"

namespace locus::families {

// Adds config.json's rope_scaling to `fields`, which holds rope_theta already: of the tensor rope_freqs, of Phi's two
// lists of factors, or of rope.scaling.*; nothing where there is none. `prefix` is the architecture's ("llama.").
// Errors: kBadInput for a tensor of factors that is none; kUnsupported for another kind of scaling.
Status add_gguf_scaling(const formats::TensorSource& file, const std::string& prefix, nlohmann::ordered_json& fields);

}  // namespace locus::families
