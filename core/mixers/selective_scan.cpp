#include "core/mixers/selective_scan.h"

#include <algorithm>
#include <vector>

namespace locus::mixers {

namespace {

constexpr std::int64_t kTogether = 1 << 18;  // decays that are computed together, which a cache holds

}  // namespace

at::Tensor selective_scan(const ScanInputs& inputs, at::Tensor& state) {
  const std::int64_t batch = inputs.x.size(0);
  const std::int64_t length = inputs.x.size(1);
  const std::int64_t channels = inputs.log_rate.size(0);
  const std::int64_t states = inputs.log_rate.size(1);
  if (!state.defined()) {
    state = at::zeros({batch, channels, states}, inputs.x.options());
  }
  const std::int64_t step = std::clamp<std::int64_t>(kTogether / std::max<std::int64_t>(1, state.numel()), 1, 64);
  std::vector<at::Tensor> outputs;
  for (std::int64_t begin = 0; begin < length; begin += step) {
    const auto chunk = [&](const at::Tensor& all) { return all.slice(1, begin, std::min(begin + step, length)); };
    const at::Tensor delta = chunk(inputs.delta);
    const at::Tensor decaying = inputs.decay_delta.defined() ? chunk(inputs.decay_delta) : delta;
    const std::vector<at::Tensor> decays =
        (decaying.unsqueeze(-1) * inputs.log_rate).exp().unbind(1);  // (B, C, N) each
    const std::vector<at::Tensor> driven =
        ((delta * chunk(inputs.x)).unsqueeze(-1) * chunk(inputs.input).unsqueeze(-2)).unbind(1);
    std::vector<at::Tensor> after;
    for (std::size_t token = 0; token < decays.size(); ++token) {
      state = at::addcmul(driven[token], decays[token], state);
      after.push_back(state);
    }
    outputs.push_back(at::matmul(at::stack(after, 1), chunk(inputs.output).unsqueeze(-1)).squeeze(-1));
  }
  const at::Tensor y = outputs.empty() ? at::zeros_like(inputs.x) : at::cat(outputs, 1);
  return inputs.skip.defined() ? at::addcmul(y, inputs.x, inputs.skip) : y;
}

}  // namespace locus::mixers
