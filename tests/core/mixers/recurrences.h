// Twins of the mixers, token by token as their papers write them, and inputs to compare them on.
#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/mixers/decayed_attention.h"
#include "core/mixers/delta_rule.h"
#include "core/mixers/gated_recurrence.h"
#include "core/mixers/selective_scan.h"

namespace locus::test {

// Lengths about a chunk of 64 tokens.
inline const std::vector<std::int64_t> kLengths{1, 2, 63, 64, 65, 200};

// Log decays: next to none, some, strong, and the strongest of Kimi Linear's lower bound at every token.
inline const std::vector<std::pair<std::string, std::pair<double, double>>> kDecays{
    {"weak", {-1e-6, 0}}, {"some", {-0.3, 0}}, {"strong", {-60, 0}}, {"bound", {-5, -4.999}}, {"zero", {0, 0}}};

inline at::Tensor uniform(at::IntArrayRef shape, double least, double most) {
  return at::rand(shape, at::kDouble) * (most - least) + least;
}

inline mixers::DecayedInputs decayed_inputs(std::int64_t length, std::pair<double, double> decay) {
  return {at::randn({2, 3, length, 10}, at::kDouble), at::randn({2, 3, length, 10}, at::kDouble),
          at::randn({2, 3, length, 6}, at::kDouble), uniform({2, 3, length}, decay.first, decay.second)};
}

inline mixers::DeltaInputs delta_inputs(std::int64_t length, std::pair<double, double> decay, bool by_channel) {
  const auto unit = [&] {
    const at::Tensor x = at::randn({2, 3, length, 10}, at::kDouble);
    return x / x.norm(2, -1, true);
  };
  std::vector<std::int64_t> shape{2, 3, length};
  if (by_channel) {
    shape.push_back(10);
  }
  return {unit(), unit(), at::randn({2, 3, length, 6}, at::kDouble), uniform({2, 3, length}, 0, 2),
          uniform(shape, decay.first, decay.second)};
}

// A state of theirs.
inline at::Tensor some_state() {
  return at::randn({2, 3, 10, 6}, at::kDouble);
}

inline mixers::ScanInputs scan_inputs(std::int64_t length, std::pair<double, double> decay) {
  return {at::randn({2, length, 6}, at::kDouble),     uniform({2, length, 6}, 0.5, 1),
          uniform({6, 4}, decay.first, decay.second), at::randn({2, length, 4}, at::kDouble),
          at::randn({2, length, 4}, at::kDouble),     at::randn({6}, at::kDouble)};
}

inline mixers::RecurrenceInputs recurrence_inputs(std::int64_t length, std::pair<double, double> decay) {
  return {at::randn({2, length, 6}, at::kDouble), uniform({2, length, 6}, decay.first, decay.second)};
}

// Every tensor of the inputs changed by `change`.
inline mixers::DecayedInputs changed(const mixers::DecayedInputs& x,
                                     const std::function<at::Tensor(const at::Tensor&)>& change) {
  return {change(x.query), change(x.key), change(x.value), change(x.log_decay)};
}
inline mixers::DeltaInputs changed(const mixers::DeltaInputs& x,
                                   const std::function<at::Tensor(const at::Tensor&)>& change) {
  return {change(x.query), change(x.key), change(x.value), change(x.beta), change(x.log_decay)};
}
inline mixers::RecurrenceInputs changed(const mixers::RecurrenceInputs& x,
                                        const std::function<at::Tensor(const at::Tensor&)>& change) {
  return {change(x.input), change(x.log_decay)};
}

// Outputs and last state of a recurrence.
using Outcome = std::pair<at::Tensor, at::Tensor>;

// S = e^g S + k vᵀ, y = Sᵀ q.
inline Outcome decayed_recurrence(const mixers::DecayedInputs& x, at::Tensor state) {
  std::vector<at::Tensor> outputs;
  for (std::int64_t t = 0; t < x.value.size(2); ++t) {
    state = state * x.log_decay.select(2, t).exp().unsqueeze(-1).unsqueeze(-1) +
            x.key.select(2, t).unsqueeze(-1) * x.value.select(2, t).unsqueeze(-2);
    outputs.push_back((state * x.query.select(2, t).unsqueeze(-1)).sum(-2));
  }
  return {at::stack(outputs, 2), state};
}

// S = e^g S, S += k ⊗ β (v − Sᵀ k), y = Sᵀ q.
inline Outcome delta_recurrence(const mixers::DeltaInputs& x, at::Tensor state) {
  std::vector<at::Tensor> outputs;
  for (std::int64_t t = 0; t < x.value.size(2); ++t) {
    at::Tensor decay = x.log_decay.select(2, t).exp().unsqueeze(-1);
    decay = decay.dim() == 3 ? decay.unsqueeze(-1) : decay;
    const at::Tensor key = x.key.select(2, t).unsqueeze(-1);
    state = state * decay;
    const at::Tensor error = x.value.select(2, t) - (state * key).sum(-2);
    state = state + key * (error * x.beta.select(2, t).unsqueeze(-1)).unsqueeze(-2);
    outputs.push_back((state * x.query.select(2, t).unsqueeze(-1)).sum(-2));
  }
  return {at::stack(outputs, 2), state};
}

// s = e^(Δ A) s + Δ x B, y = s C + D x.
inline Outcome scan_recurrence(const mixers::ScanInputs& x, at::Tensor state) {
  std::vector<at::Tensor> outputs;
  for (std::int64_t t = 0; t < x.x.size(1); ++t) {
    const at::Tensor delta = x.delta.select(1, t).unsqueeze(-1);
    const at::Tensor now = x.x.select(1, t);
    state = (delta * x.log_rate).exp() * state + delta * now.unsqueeze(-1) * x.input.select(1, t).unsqueeze(1);
    const at::Tensor y = (state * x.output.select(1, t).unsqueeze(1)).sum(-1);
    outputs.push_back(x.skip.defined() ? y + x.skip * now : y);
  }
  return {at::stack(outputs, 1), state};
}

// h = e^g h + x.
inline Outcome gated_recurrence_twin(const mixers::RecurrenceInputs& x, at::Tensor state) {
  std::vector<at::Tensor> outputs;
  for (std::int64_t t = 0; t < x.input.size(1); ++t) {
    state = x.log_decay.select(1, t).exp() * state + x.input.select(1, t);
    outputs.push_back(state);
  }
  return {at::stack(outputs, 1), state};
}

}  // namespace locus::test
