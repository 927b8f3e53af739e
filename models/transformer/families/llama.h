// The Llama shape without its positions: what Mistral, Qwen2 and TAPE share.
#pragma once

#include "models/transformer/families/family.h"

namespace locus::families {

// Spec and bindings of everything but the position encoding.
Result<Plan> read_llama(const Checkpoint& checkpoint);

// The same with half-rotate RoPE and its scaling.
Result<Plan> read_llama_rope(const Checkpoint& checkpoint);

}  // namespace locus::families
