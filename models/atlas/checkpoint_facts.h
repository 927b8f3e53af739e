// What an atlas says of the checkpoint that it was made of.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/base/result.h"

namespace locus::models::atlas {

struct CheckpointFacts {
  std::string sha256;                // of its tensors' files, one after another
  std::optional<std::int64_t> step;  // of training
};

// The step is the number behind "step" in the name of the folder ("step1000", "pythia-step1000"), or else `step` of its
// training.json. Errors: kBadInput for files that cannot be read.
Result<CheckpointFacts> facts_of(const std::filesystem::path& checkpoint);

// The number behind the last "step" of a name.
std::optional<std::int64_t> step_in_name(const std::string& name);

}  // namespace locus::models::atlas
