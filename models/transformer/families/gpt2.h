// GPT-2 without its positions: what SeqPE's GPT-2 shares.
#pragma once

#include "models/transformer/families/family.h"

namespace locus::families {

// Spec and bindings of everything but the position encoding.
Result<Plan> read_gpt2(const Checkpoint& checkpoint);

}  // namespace locus::families
