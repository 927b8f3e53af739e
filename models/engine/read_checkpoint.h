// Configuration and tensors at a path, before their family is known.
#pragma once

#include <filesystem>

#include "core/base/result.h"
#include "models/families/engine/family.h"

namespace locus::models {

// A checkpoint's folder or file. Errors: kBadInput, kUnsupported of the readers.
Result<families::CheckpointFiles> read_checkpoint(const std::filesystem::path& path);

}  // namespace locus::models
