// The line for a checkpoint of no family.
#pragma once

#include "core/base/result.h"

#include "models/transformer/plan.h"

namespace locus::families {

// kUnsupported naming what was found - its model_type, or else the first of its tensors and what a training script left
// beside them, or that it is a trace - and what would open.
Error unrecognised(const transformer::CheckpointFiles& checkpoint);

}  // namespace locus::families
