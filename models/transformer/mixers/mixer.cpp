#include "models/transformer/mixers/mixer.h"

#include "core/mixers/causal_convolution.h"
#include "models/transformer/mixers/kinds.h"

namespace locus::transformer {

at::Tensor convolved(const at::Tensor& x, const Linear& weights, MixerState& state) {
  return at::silu(mixers::causal_convolution(x, weights.weight, weights.bias, state.convolution));
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
