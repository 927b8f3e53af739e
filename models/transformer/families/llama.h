// The Llama table: what every family that keeps its names starts from.
#pragma once

#include "models/transformer/families/engine/family.h"

namespace locus::families {

// Llama's fields, names and half-rotate RoPE under another model_type.
Family llama(std::string_view name);

// One RoPE for all layers, as rope_options() reads it. Errors: rope_options()'s.
Status set_rope(const Config& config, Plan& plan, double base = 10000.0, const char* layout = "half",
                double fraction = 1.0);

// finish() of Llama: RoPE as the config says in every layer. Errors: rope_options().
Status finish_llama(const Checkpoint& checkpoint, Plan& plan);

}  // namespace locus::families
