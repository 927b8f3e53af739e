// What lies at a path: configuration and tensors, before it is known whose they are.
#pragma once

#include <filesystem>

#include "core/base/result.h"
#include "models/families/engine/family.h"

namespace locus::models {

// A checkpoint's folder or file. Errors: kBadInput, kUnsupported of the readers.
Result<families::CheckpointFiles> read_checkpoint(const std::filesystem::path& path);

}  // namespace locus::models
