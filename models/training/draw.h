// Draw: the sequences of each step of a run. They depend only on the run's options and the step, so that a resumed run
// uses the same sequences.
#pragma once

#include <cstdint>
#include <vector>

#include "models/training/task.h"

namespace locus::training {

class Draw {
 public:
  // Both outlive this.
  Draw(const Task& task, const TrainOptions& options) : task_(task), options_(options) {}

  // Part p of the batch of a step: batch / gradient_parts sequences. New ones in every step; with a train size N the
  // same N sequences again, each once an epoch, in a new order every epoch.
  Examples part(std::int64_t step, std::int64_t part);

 private:
  // The sequence, of train_size, at a place of an epoch.
  std::int64_t sequence_at(std::int64_t epoch, std::int64_t place);

  const Task& task_;
  const TrainOptions& options_;
  std::int64_t epoch_ = -1;  // epoch of `order_`
  std::vector<std::int64_t> order_;
};

}  // namespace locus::training
