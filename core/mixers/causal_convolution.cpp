#include "core/mixers/causal_convolution.h"

#include <algorithm>
#include <vector>

namespace locus::mixers {

namespace {

constexpr std::int64_t kInCache = 1 << 18;  // numbers that are computed together

}  // namespace

at::Tensor causal_convolution(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                              at::Tensor& state) {
  const std::int64_t length = x.size(1);
  const std::int64_t seen = weight.size(1) - 1;  // inputs before a token that it sees
  const at::Tensor before = state.defined() ? state : at::zeros({x.size(0), seen, x.size(2)}, x.options());
  // Inputs begin … end − 1 of x, and those before x where begin < 0.
  const auto inputs = [&](std::int64_t begin, std::int64_t end) {
    return begin >= 0 ? x.slice(1, begin, end) : at::cat({before.slice(1, seen + begin), x.slice(1, 0, end)}, 1);
  };
  const std::int64_t step = std::max<std::int64_t>(1, kInCache / std::max<std::int64_t>(1, x.size(0) * x.size(2)));
  std::vector<at::Tensor> outputs;
  for (std::int64_t begin = 0; begin < length; begin += step) {
    const std::int64_t end = std::min(begin + step, length);
    const at::Tensor window = inputs(begin - seen, end);
    const auto lagged = [&](std::int64_t tap) { return window.slice(1, tap, tap + end - begin); };
    at::Tensor y = bias.defined() ? at::addcmul(bias, lagged(0), weight.select(1, 0)) : lagged(0) * weight.select(1, 0);
    for (std::int64_t tap = 1; tap <= seen; ++tap) {
      y = at::addcmul(y, lagged(tap), weight.select(1, tap));
    }
    outputs.push_back(y);
  }
  state = inputs(length - seen, length).clone();
  return outputs.empty() ? at::zeros_like(x) : at::cat(outputs, 1);
}

}  // namespace locus::mixers
