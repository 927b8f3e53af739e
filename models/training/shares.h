// Shares: the share of one of several processes in a training step. Every process draws the whole batch, which is
// cheap, and runs its own sequences of it; gradients are then added, to the same bits everywhere, so that all processes
// take the same step.
#pragma once

#include <cstdint>

#include "core/base/result.h"
#include "models/api/process_group.h"
#include "models/training/adamw.h"
#include "models/training/network.h"
#include "models/training/task.h"

namespace locus::training {

class Shares {
 public:
  // Null: one process with all sequences.
  explicit Shares(models::ProcessGroup* group) : group_(group) {}

  bool alone() const { return group_ == nullptr; }
  // True for the process that writes and measures.
  bool leads() const { return group_ == nullptr || group_->rank() == 0; }
  // The indices of its own sequences, begin + own part of `count`; may be empty.
  Examples of(const Examples& examples, std::int64_t begin, std::int64_t count) const;
  // Adds the gradients and the loss of all processes; sets `stop` where any of them requests it.
  Status add_up(const OwnNetwork& network, double& loss, bool& stop) const;
  // Copies rank 0's parameters, means and step to all processes, for resuming.
  Status spread(const OwnNetwork& network, AdamW& optimiser, std::int64_t& step) const;
  // Copies rank 0's value to all processes.
  Status spread(double& value) const;

 private:
  models::ProcessGroup* group_;
};

}  // namespace locus::training
