// The facts about its checkpoint that an atlas records.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/base/result.h"

namespace locus::models::atlas {

struct CheckpointFacts {
  std::string sha256;                // of the tensors' files, consecutively
  std::optional<std::int64_t> step;  // training step
};

// The step is the number after "step" in the folder's name ("step1000", "pythia-step1000"), or else `step` of its
// training.json. Errors: kBadInput for files that cannot be read.
Result<CheckpointFacts> facts_of(const std::filesystem::path& checkpoint);

// The number after the last "step" of a name.
std::optional<std::int64_t> step_in_name(const std::string& name);

}  // namespace locus::models::atlas
