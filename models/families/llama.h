// The Llama table: what every family that keeps its names starts from.
#pragma once

#include "models/families/engine/family.h"
#include "models/families/engine/rope.h"

namespace locus::families {

// Llama's fields, names and half-rotate RoPE under another model_type.
Family llama(std::string_view name);

// finish() of Llama: RoPE as the config says in every layer. Errors: rope_options().
Status finish_llama(const CheckpointFiles& checkpoint, Plan& plan);

}  // namespace locus::families
