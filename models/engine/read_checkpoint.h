// Configuration and tensors at a path, before their family is known; and a model of them.
#pragma once

#include <filesystem>
#include <memory>

#include "core/base/result.h"
#include "models/api/model.h"
#include "models/families/engine/family.h"

namespace locus::models {

// A checkpoint's folder or file; of an adapter's folder, its base with the adapter added, which `base` names where it is
// not empty. Errors: kBadInput, kUnsupported of the readers.
Result<families::CheckpointFiles> read_checkpoint(const std::filesystem::path& path,
                                                  const std::filesystem::path& base = {});

// The model that a family makes of them: open() with a family of its choice. Errors: those of open().
Result<std::shared_ptr<const Model>> open_as(const families::Family& family,
                                             const families::CheckpointFiles& checkpoint, const OpenOptions& options);

}  // namespace locus::models
