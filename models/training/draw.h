// Draw: which sequences a step of a run learns from. A function of the run's options and the step alone, so that a
// resumed run learns from what it would have learned from.
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
  // same N again and again, each once an epoch, in an order of the epoch's own.
  Examples part(std::int64_t step, std::int64_t part);

 private:
  // Which of the train_size sequences stands at a place of an epoch.
  std::int64_t sequence_at(std::int64_t epoch, std::int64_t place);

  const Task& task_;
  const TrainOptions& options_;
  std::int64_t epoch_ = -1;  // whose order is kept
  std::vector<std::int64_t> order_;
};

}  // namespace locus::training
