// Replicas: trains one model on several threads. Each thread runs its share of a batch forward and backward on a copy
// that shares the parameters' memory and has its own gradients; the shares are then added in a fixed order, so the
// result depends on the number of threads but not on their timing. Matrix products run on one thread each: for small
// models this is faster than splitting every product, and a busy machine does not stall them.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/result.h"
#include "models/training/network.h"
#include "models/training/task.h"

namespace locus::training {

class Replicas {
 public:
  // `network` must outlive it; parameters that require gradients are trained.
  static Result<std::unique_ptr<Replicas>> create(const OwnNetwork& network, std::int64_t threads);
  ~Replicas();

  // Adds the gradients of `scale` · Σ nats of the counted targets to those of the network, with the tokens of every
  // sequence at `positions`; returns Σ nats · scale.
  double backward(const Examples& examples, const position::Positions& positions, double scale);

 private:
  explicit Replicas(const OwnNetwork& network);
  void collect();

  const OwnNetwork& network_;
  std::vector<OwnNetwork> copies_;  // replicas of the threads beyond the first
  int threads_before_ = 1;
};

}  // namespace locus::training
