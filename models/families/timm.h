// ViT under timm's names without its positions: what DeiT, RoPE-ViT and SeqPE's ViT share.
#pragma once

#include "models/families/engine/family.h"

namespace locus::families {

// config.json's `architecture`, or "".
std::string architecture(const CheckpointFiles& checkpoint);

// Spec and bindings of everything but the position encoding. What `model_args` omits comes from the architecture's name
// and the shapes of the tensors.
Result<Plan> read_timm(const CheckpointFiles& checkpoint);

}  // namespace locus::families
