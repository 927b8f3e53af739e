// Names that wrappers of a model put in front of its tensors: torch.compile, data parallelism, training frameworks.
#pragma once

#include "models/families/engine/family.h"

namespace locus::families {

// The checkpoint without such names: components that only wrappers write (_orig_mod, _fsdp_wrapped_module, …) are left
// out wherever they stand; and where no table finds its first tensor, up to three components that all tensors begin
// with ("module.", a Lightning module's "model." or "net."), until one does. Tensors of task heads need not have them.
// A warning of the source names what was left out. Errors: kBadInput where two tensors get one name.
Result<CheckpointFiles> without_wrappers(CheckpointFiles checkpoint);

}  // namespace locus::families
