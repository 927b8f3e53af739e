// The line for a checkpoint of no family.
#pragma once

#include "core/base/result.h"

namespace locus::families {

struct Checkpoint;

// kUnsupported naming what was found - its model_type, or else the first of its tensors and what a training script left
// beside them, or that it is a trace - and what would open.
Error unrecognised(const Checkpoint& checkpoint);

}  // namespace locus::families
