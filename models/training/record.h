// The results that `locus evaluate --record` writes to a checkpoint's training.json.
#pragma once

#include <filesystem>

#include "core/base/result.h"
#include "models/api/train.h"
#include "models/training/task.h"

namespace locus::training {

constexpr std::size_t kLongestRecord = std::size_t{16} << 20;  // limit of a training.json, in bytes

// Writes to training.json. For the unmodified checkpoint: `reference`, the value of its first split, which can be
// reproduced from the files in the folder (and, for texts, a named file), and `map` where one was measured. With
// overrides: an element of the list `what_if` with the overrides (`rope_base`, `rope_scaling`, and their `…_layers`
// where they apply to some rotary layers only), `splits`, `interval`, `samples`, `seed` and `map`; it replaces one with
// the same overrides. Errors: kBadInput for a training.json that is no object or has a `what_if` that is no list, and
// for a first split without a value.
Status record_evaluation(const std::filesystem::path& checkpoint, const Task& task, const EvaluateOptions& options,
                         const models::Overrides& overrides, const Evaluation& evaluation);

}  // namespace locus::training
