// What `locus evaluate --record` keeps in a checkpoint's training.json.
#pragma once

#include <filesystem>

#include "core/base/result.h"
#include "models/api/train.h"
#include "models/training/task.h"

namespace locus::training {

constexpr std::size_t kLongestRecord = std::size_t{16} << 20;  // bytes of a training.json

// Writes into training.json. For the checkpoint as it is: `reference`, its first split's value, which anybody can
// measure again with what is in the folder (and, of texts, a named file), and `map` where one was measured. With
// overrides: an element of the list `what_if` with what they are (`rope_base`, `rope_scaling`, and their `…_layers`
// where not all that turn obey), `splits`, `interval`, `samples`, `seed` and `map`, in the place of one with the same
// overrides. Errors: kBadInput for a training.json that
// is no object or has a `what_if` that is no list, and for a first split without a value.
Status record_evaluation(const std::filesystem::path& checkpoint, const Task& task, const EvaluateOptions& options,
                         const models::Overrides& overrides, const Evaluation& evaluation);

}  // namespace locus::training
