#include "core/mixers/gated_recurrence.h"

#include <vector>

namespace locus::mixers {

at::Tensor gated_recurrence(const RecurrenceInputs& inputs, at::Tensor& state) {
  if (inputs.input.size(1) == 0) {
    return at::zeros_like(inputs.input);
  }
  const std::vector<at::Tensor> decays = inputs.log_decay.exp().unbind(1);
  const std::vector<at::Tensor> driven = inputs.input.unbind(1);
  std::vector<at::Tensor> after;
  after.reserve(decays.size());
  for (std::size_t token = 0; token < decays.size(); ++token) {
    state = state.defined() ? at::addcmul(driven[token], decays[token], state) : driven[token].clone();
    after.push_back(state);
  }
  return at::stack(after, 1);
}

}  // namespace locus::mixers
