// The two halves of a checkpoint that compares pictures with texts (CLIP, SigLIP): from the states of each to one vector,
// and what turns the cosine of both into a logit.
#pragma once

#include "core/base/result.h"
#include "models/engine/checkpoint.h"
#include "models/families/engine/family.h"

namespace locus::models {

// Sets the steps to one vector, the scale and the bias where this is a half with a projection; a file without them has
// none. Weights in blocks leave them out, with a warning. Errors: kBadInput naming tensor or field, expected and found.
Status open_half(const families::CheckpointFiles& checkpoint, families::Plan& plan, CheckpointParts& parts);

// Sets what texts of SigLIP's text half are filled up with: its padding token, up to its number of positions. A tokenizer
// without one leaves texts unread; ids are not filled up.
Status open_padding(const families::CheckpointFiles& checkpoint, CheckpointParts& parts);

}  // namespace locus::models
