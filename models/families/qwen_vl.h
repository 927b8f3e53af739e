// The towers of Qwen2-VL and its heirs.
#pragma once

#include "models/families/engine/vision.h"

namespace locus::families {

// Patches in cells, rotary rows and columns, one matrix for q, k and v; norms with fixed epsilons.
Family qwen_tower(std::string_view name);

// The rotation of rows and columns that they share.
transformer::EncodingSpec qwen_rotation();

// M-RoPE of the text: refused without sections.
Status check_sections(const CheckpointFiles& checkpoint, const Plan& text);

}  // namespace locus::families
