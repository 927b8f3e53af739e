// AdamW (Loshchilov & Hutter 2019) on a list of parameters, and the learning rate's schedule. Written out in place:
// torch's own optimiser would cost every build 20 seconds for what is one short loop.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "core/base/words.h"
#include "models/api/train.h"

namespace locus::training {

struct AdamOptions {
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
};

class AdamW {
 public:
  struct Group {
    at::Tensor value;  // a leaf that requires grad
    double weight_decay = 0;
    at::Tensor mean;    // exponential mean of the gradient, as `value`
    at::Tensor square;  // exponential mean of its square
  };

  explicit AdamW(AdamOptions options = {}) : options_(options) {}

  void add(const at::Tensor& value, double weight_decay);
  // One update from the parameters' gradients, which are then cleared: p −= lr·(m̂/(√v̂ + ε) + λp). The gradient is
  // first scaled so that its norm is at most `clip` (0: no limit). Returns the norm before clipping; where it is not
  // finite, nothing is updated.
  double step(double learning_rate, double clip);

  // For saving and resuming, in the order of add().
  std::vector<Group>& groups() { return groups_; }
  std::int64_t steps() const { return steps_; }
  void set_steps(std::int64_t steps) { steps_ = steps; }

 private:
  AdamOptions options_;
  std::vector<Group> groups_;
  std::int64_t steps_ = 0;
};

inline constexpr WordTable<Decay, 3> kDecays{
    {{"cosine", Decay::kCosine}, {"linear", Decay::kLinear}, {"constant", Decay::kConstant}}};

// The learning rate of step `step` (from 0): linear warm-up to the peak, then decay to 0 at the end.
double learning_rate_at(std::int64_t step, const TrainOptions& options);

}  // namespace locus::training
