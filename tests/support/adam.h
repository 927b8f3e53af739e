// Adam (Kingma and Ba 2015) over an encoding's parameters, for tests that train a little without the models floor.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <vector>

#include "core/position/position_encoding.h"

namespace locus::test {

class Adam {
 public:
  // Every parameter starts to require gradients.
  Adam(const std::vector<position::Parameter>& parameters, double rate) : rate_(rate) {
    for (const position::Parameter& parameter : parameters) {
      parameter.value->requires_grad_();
      slots_.push_back({*parameter.value, at::zeros_like(*parameter.value), at::zeros_like(*parameter.value)});
    }
  }

  // Back-propagates a loss and moves every parameter that it reaches.
  void step(const at::Tensor& loss) {
    loss.backward();
    const at::NoGradGuard no_gradients;
    ++steps_;
    const double first = 1 - std::pow(0.9, steps_);
    const double second = 1 - std::pow(0.999, steps_);
    for (Slot& slot : slots_) {
      at::Tensor& gradient = slot.value.mutable_grad();
      if (!gradient.defined()) {
        continue;
      }
      slot.mean.mul_(0.9).add_(gradient, 0.1);
      slot.square.mul_(0.999).addcmul_(gradient, gradient, 0.001);
      slot.value.addcdiv_(slot.mean, (slot.square / second).sqrt_().add_(1e-8), -rate_ / first);
      gradient.zero_();
    }
  }

 private:
  struct Slot {
    at::Tensor value, mean, square;
  };
  double rate_;
  int steps_ = 0;
  std::vector<Slot> slots_;
};

}  // namespace locus::test
