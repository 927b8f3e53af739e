// Shares: the part that one of several processes has in a training step. Every process draws the whole batch, which
// costs little, and runs its own sequences of it; gradients are then added up, to the same bits everywhere, so that all
// processes take the same step.
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
  // Null: one process, which has all.
  explicit Shares(models::ProcessGroup* group) : group_(group) {}

  bool alone() const { return group_ == nullptr; }
  // Whether this process writes and measures.
  bool leads() const { return group_ == nullptr || group_->rank() == 0; }
  // The sequences begin + own part of `count`; may be none.
  Examples of(const Examples& examples, std::int64_t begin, std::int64_t count) const;
  // Adds up the gradients and the loss of all processes; `stop` is then set where any of them asks for it.
  Status add_up(const OwnNetwork& network, double& loss, bool& stop) const;
  // Rank 0's parameters, means and step for all: what a resumed run goes on from.
  Status spread(const OwnNetwork& network, AdamW& optimiser, std::int64_t& step) const;
  // Rank 0's value for all.
  Status spread(double& value) const;

 private:
  models::ProcessGroup* group_;
};

}  // namespace locus::training
