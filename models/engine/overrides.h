// RoPE under another base or scaling than the checkpoint's.
#pragma once

#include "models/api/model.h"
#include "models/transformer/spec.h"

namespace locus::models {

// The spec under another base or scaling, and what was applied, written most shortly: yarn:2 for yarn:2.0, with the
// layers where not all that turn obey; empty where nothing changes, but for `fast` and `half`, which a spec does not have,
// and for a stage other than the last, whose spec this is. Errors: kUnsupported where its layers, or the model, have none,
// and for layers that share learned tensors with others; kUsage for a scaling or layers that cannot be read.
Result<Overrides> apply_overrides(const Overrides& overrides, transformer::Spec& spec);
// One encoding under another base and scaling, whichever layers they name. Errors: as above.
Status override_encoding(const Overrides& overrides, transformer::EncodingSpec& encoding);

}  // namespace locus::models
