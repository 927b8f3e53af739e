// What a checkpoint's tensors say of the head, where its configuration leaves it open.
#pragma once

#include "models/transformer/plan.h"

namespace locus::families {

// A head that is stored beside an embedding with other numbers is used, whatever tie_word_embeddings says, as in
// transformers 5; a warning names it.
void untie_stored_head(const transformer::CheckpointFiles& checkpoint, transformer::Plan& plan);

// A model stored without a head (AutoModel's classes): its outcome is the states. A file whose `architectures` names a
// class with this head is damaged instead, and its missing tensors are named when weights are bound.
void leave_out_absent_head(const transformer::CheckpointFiles& checkpoint, transformer::Plan& plan);

}  // namespace locus::families
