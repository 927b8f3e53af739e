// Parts of an analysis that do not need each other, several at once: two runs on one core each take less than one after
// the other on two, which wait for each other at every layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "core/base/progress.h"
#include "models/api/model.h"

namespace locus::models {

// How many runs over `length` tokens go on at once where there are `parts` of them: as many as there are threads, where
// parts, and memory for them, suffice; else 1, which then has all threads.
int runs_at_once(const Model& model, std::int64_t length, const RunOptions& options, std::size_t parts);

// part(0) … part(parts − 1), each once and in any order, on `at_once` threads of which the caller's is one: it alone
// reports. Stops after a failure, and returns that of the earliest part that failed; what a part throws is thrown here.
Status each_at_once(std::size_t parts, int at_once, const std::function<Status(std::size_t)>& part,
                    const Progress& progress);

}  // namespace locus::models
