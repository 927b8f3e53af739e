#include "models/training/adamw.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace locus::training {

void AdamW::add(const at::Tensor& value, double weight_decay) {
  groups_.push_back({value, weight_decay, at::zeros_like(value), at::zeros_like(value)});
}

double AdamW::step(double learning_rate, double clip) {
  const at::NoGradGuard no_grad;
  double squares = 0;
  for (const Group& group : groups_) {
    if (group.value.grad().defined()) {
      const auto norm = group.value.grad().norm().item<double>();
      squares += norm * norm;
    }
  }
  const double norm = std::sqrt(squares);
  if (!std::isfinite(norm)) {
    return norm;
  }
  const double shrink = clip > 0 && norm > clip ? clip / norm : 1;
  ++steps_;
  const double correction1 = 1 - std::pow(options_.beta1, static_cast<double>(steps_));
  const double correction2 = 1 - std::pow(options_.beta2, static_cast<double>(steps_));
  for (Group& group : groups_) {
    at::Tensor& gradient = group.value.mutable_grad();
    if (!gradient.defined()) {
      continue;
    }
    if (shrink != 1) {
      gradient.mul_(shrink);
    }
    group.mean.mul_(options_.beta1).add_(gradient, 1 - options_.beta1);
    group.square.mul_(options_.beta2).addcmul_(gradient, gradient, 1 - options_.beta2);
    const at::Tensor spread = (group.square / correction2).sqrt_().add_(options_.epsilon);
    group.value.mul_(1 - learning_rate * group.weight_decay);
    group.value.addcdiv_(group.mean, spread, -learning_rate / correction1);
    gradient.reset();
  }
  return norm;
}

double learning_rate_at(std::int64_t step, const TrainOptions& options) {
  if (step < options.warmup) {
    return options.learning_rate * static_cast<double>(step + 1) / static_cast<double>(options.warmup);
  }
  const std::int64_t decaying = std::max<std::int64_t>(options.steps - options.warmup, 1);
  const double done = std::clamp(static_cast<double>(step - options.warmup) / static_cast<double>(decaying), 0.0, 1.0);
  switch (options.decay) {
    case Decay::kCosine:
      return options.learning_rate * 0.5 * (1 + std::cos(std::numbers::pi * done));
    case Decay::kLinear:
      return options.learning_rate * (1 - done);
    case Decay::kConstant:
      return options.learning_rate;
  }
  return options.learning_rate;
}

}  // namespace locus::training
