#include "core/mixers/causal_convolution.h"

namespace locus::mixers {

at::Tensor causal_convolution(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                              at::Tensor& state) {
  const std::int64_t length = x.size(1);
  const std::int64_t kernel = weight.size(1);
  const at::Tensor before = state.defined() ? state : at::zeros({x.size(0), kernel - 1, x.size(2)}, x.options());
  const at::Tensor inputs = at::cat({before, x}, 1);
  const auto lagged = [&](std::int64_t tap) { return inputs.slice(1, tap, tap + length); };
  at::Tensor y = bias.defined() ? at::addcmul(bias, lagged(0), weight.select(1, 0)) : lagged(0) * weight.select(1, 0);
  for (std::int64_t tap = 1; tap < kernel; ++tap) {
    y = at::addcmul(y, lagged(tap), weight.select(1, tap));
  }
  state = inputs.slice(1, length).clone();
  return y;
}

}  // namespace locus::mixers
