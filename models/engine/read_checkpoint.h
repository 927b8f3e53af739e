// Configuration and tensors at a path, before their family is known.
#pragma once

#include <filesystem>

#include "core/base/result.h"
#include "models/families/engine/family.h"

namespace locus::models {

// A checkpoint's folder or file; of an adapter's folder, its base with the adapter added, which `base` names where it is
// not empty. Errors: kBadInput, kUnsupported of the readers.
Result<families::CheckpointFiles> read_checkpoint(const std::filesystem::path& path,
                                                  const std::filesystem::path& base = {});

}  // namespace locus::models
