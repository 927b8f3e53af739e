#include "models/transformer/mixers/mixer.h"

#include <algorithm>
#include <cmath>

#include "core/mixers/causal_convolution.h"
#include "models/transformer/mixers/kinds.h"

namespace locus::transformer {

namespace {

// Mixes the tokens between the marks of a run, one stretch after the other; (…) joined along `axis`.
template <class Mix>
at::Tensor by_marks(MixerRun& run, at::Tensor MixerState::*part, std::int64_t axis, const Mix& mix) {
  at::Tensor state = run.before.*part;
  std::vector<at::Tensor> outputs;
  std::int64_t begin = 0;
  for (MixerMark& mark : run.marks) {
    const auto stretch = [&](const at::Tensor& all) { return all.slice(axis, begin, mark.tokens); };
    outputs.push_back(mix(stretch, state));
    mark.state.*part = state;
    begin = mark.tokens;
  }
  return outputs.size() == 1 ? outputs.front() : at::cat(outputs, axis);
}

}  // namespace

std::vector<std::int64_t> marks_of(std::int64_t length) {
  const std::int64_t before = std::max<std::int64_t>(length - 2, 0);
  std::vector<std::int64_t> marks;
  for (const std::int64_t tokens : {before / 256 * 256, before / 16 * 16, length - 1, length}) {
    if (tokens > (marks.empty() ? 0 : marks.back())) {
      marks.push_back(tokens);
    }
  }
  return marks;
}

at::Tensor convolution(const at::Tensor& x, const Linear& weights, MixerRun& run) {
  return by_marks(run, &MixerState::convolution, 1, [&](const auto& stretch, at::Tensor& state) {
    return mixers::causal_convolution(stretch(x), weights.weight, weights.bias, state);
  });
}

at::Tensor recurrence(const mixers::DecayedInputs& inputs, MixerRun& run) {
  return by_marks(run, &MixerState::recurrence, 2, [&](const auto& stretch, at::Tensor& state) {
    return mixers::decayed_attention(
        {stretch(inputs.query), stretch(inputs.key), stretch(inputs.value), stretch(inputs.log_decay)}, state);
  });
}

at::Tensor recurrence(const mixers::DeltaInputs& inputs, MixerRun& run) {
  return by_marks(run, &MixerState::recurrence, 2, [&](const auto& stretch, at::Tensor& state) {
    return mixers::delta_rule({stretch(inputs.query), stretch(inputs.key), stretch(inputs.value), stretch(inputs.beta),
                               stretch(inputs.log_decay)},
                              state);
  });
}

at::Tensor recurrence(const mixers::ScanInputs& inputs, MixerRun& run) {
  return by_marks(run, &MixerState::recurrence, 1, [&](const auto& stretch, at::Tensor& state) {
    const at::Tensor& decaying = inputs.decay_delta;
    return mixers::selective_scan(
        {stretch(inputs.x), stretch(inputs.delta), inputs.log_rate, stretch(inputs.input), stretch(inputs.output),
         inputs.skip, decaying.defined() ? stretch(decaying) : decaying},
        state);
  });
}

at::Tensor recurrence(const mixers::RecurrenceInputs& inputs, MixerRun& run) {
  return by_marks(run, &MixerState::recurrence, 1, [&](const auto& stretch, at::Tensor& state) {
    return mixers::gated_recurrence({stretch(inputs.input), stretch(inputs.log_decay)}, state);
  });
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
