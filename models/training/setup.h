// What a training run begins with: complete options and a model.
#pragma once

#include "core/base/result.h"
#include "models/training/network.h"
#include "models/training/task.h"

namespace locus::training {

struct Setup {
  // Every default that depends on others filled in, so that what is recorded says everything.
  TrainOptions options;
  // Parameters that are trained require gradients, the others do not.
  OwnNetwork network;
};

// Errors: kUsage for numbers that make no run, or that contradict each other; kBadInput for a checkpoint or config that
// cannot be read, or does not fit the task.
Result<Setup> set_up(const TrainOptions& options, const Task& task);

// The part of set_up()'s checks that needs no task.
Status check(const TrainOptions& options);

}  // namespace locus::training
