#include "models/transformer/mixers/mixer.h"

#include <cmath>

#include "core/mixers/causal_convolution.h"
#include "models/transformer/mixers/kinds.h"

namespace locus::transformer {

at::Tensor convolved(const at::Tensor& x, const Linear& weights, MixerState& state) {
  return at::silu(mixers::causal_convolution(x, weights.weight, weights.bias, state.convolution));
}

at::Tensor inverse_softplus(const at::Tensor& y) {
  return y + at::log(-at::expm1(-y));
}

at::Tensor first_rates(std::int64_t n) {
  return at::log(at::empty({n}).uniform_(1, 16));
}

at::Tensor first_step_biases(std::int64_t n) {
  return inverse_softplus(at::exp(at::empty({n}).uniform_(std::log(0.001), std::log(0.1))));
}

at::Tensor first_kernel(std::int64_t channels, std::int64_t kernel) {
  const double most = 1 / std::sqrt(static_cast<double>(kernel));
  return at::empty({channels, kernel}).uniform_(-most, most);
}

std::unique_ptr<Mixer> make_mixer(const Spec& spec, std::int64_t layer) {
  const MixerSpec& mixer = spec.layers[static_cast<std::size_t>(layer)].mixer;
  switch (mixer.kind) {
    case Mixing::kNone:
      return nullptr;
    case Mixing::kDelta:
      return make_delta_mixer(mixer, spec.width);
    case Mixing::kStateSpace:
      return make_state_space_mixer(mixer, spec.width);
    case Mixing::kLightning:
      return make_lightning_mixer(mixer, spec.width, layer, spec.depth());
    case Mixing::kConvolution:
      return make_convolution_mixer(mixer, spec.width);
    case Mixing::kSelective:
      return make_selective_mixer(mixer, spec.width);
    case Mixing::kRecurrence:
      return make_recurrence_mixer(mixer, spec.width);
  }
  return nullptr;
}

}  // namespace locus::transformer
