// The start of a training run: complete options and a model.
#pragma once

#include "core/base/result.h"
#include "models/training/network.h"
#include "models/training/task.h"

namespace locus::training {

struct Setup {
  // Options with every default resolved, so that the record is complete.
  TrainOptions options;
  // Trained parameters require gradients, the others do not.
  OwnNetwork network;
};

// Errors: kUsage for invalid or contradictory numbers; kBadInput for a checkpoint or config that cannot be read, or
// does not match the task.
Result<Setup> set_up(const TrainOptions& options, const Task& task);

// The checks of set_up() that need no task.
Status check(const TrainOptions& options);

}  // namespace locus::training
