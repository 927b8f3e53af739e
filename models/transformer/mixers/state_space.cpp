// Mamba-2's state space (arXiv 2405.21060). One matrix gives z (I), x (I), B and C (G·N each) and the steps (H); x, B
// and C pass a causal convolution and SiLU, and
//
//   Δ = softplus(step + step_bias) within its limits,   S_t = e^{Δ_t A} S_{t−1} + Δ_t B_t ⊗ x_t,   y_t = S_tᵀ C_t + D x_t
//
// with A = −e^{rate}. The output is y times SiLU(z), with an RMSNorm in groups of channels before or after the product.
#include <algorithm>
#include <array>
#include <utility>

#include "models/transformer/mixers/kinds.h"

namespace locus::transformer {

namespace {

class StateSpaceMixer : public Mixer {
 public:
  StateSpaceMixer(const MixerSpec& spec, std::int64_t width) : spec_(spec), width_(width) {}

  void collect(ParameterList& list, const std::string& prefix) override {
    const std::int64_t mixed = spec_.inner() + 2 * spec_.key_heads * spec_.key_width;
    list.linear(prefix + "input", spec_.inner() + mixed + spec_.heads, width_, spec_.bias, input_);
    list.tensor(prefix + "convolution.weight", {mixed, spec_.kernel}, convolution_.weight);
    if (spec_.kernel_bias) {
      list.tensor(prefix + "convolution.bias", {mixed}, convolution_.bias);
    }
    list.tensor(prefix + "rate", {spec_.heads}, rate_);
    list.tensor(prefix + "step_bias", {spec_.heads}, step_bias_);
    list.tensor(prefix + "skip", {spec_.heads}, skip_);
    if (spec_.norm != MixerNorm::kNone) {
      list.norm(prefix + "norm", spec_.inner(), true, false, norm_);
    }
    list.linear(prefix + "output", width_, spec_.inner(), spec_.bias, output_);
  }

  void initialise() override {
    convolution_.weight = first_kernel(convolution_.weight.size(0), spec_.kernel);
    rate_ = first_rates(spec_.heads);
    step_bias_ = first_step_biases(spec_.heads);
    skip_ = at::ones({spec_.heads});
  }

  Mixed operator()(const at::Tensor& x, MixerRun& run) const override {
    const std::int64_t states = spec_.key_heads * spec_.key_width;
    const std::int64_t inner = spec_.inner();
    const std::vector<at::Tensor> parts =
        scaled(linear(x, input_)).split_with_sizes({inner, inner + 2 * states, spec_.heads}, -1);
    const std::vector<at::Tensor> mixed =
        at::silu(convolution(parts[1], convolution_, run)).split_with_sizes({inner, states, states}, -1);
    at::Tensor step = at::softplus(parts[2] + step_bias_);  // (B, T, H)
    if (spec_.most_step > 0) {
      step = step.clamp(spec_.least_step, spec_.most_step);
    }
    step = step.transpose(1, 2);
    mixers::DecayedInputs inputs;
    inputs.query = repeated(heads(mixed[2], spec_.key_heads));
    inputs.key = repeated(heads(mixed[1], spec_.key_heads)) * step.unsqueeze(-1);
    inputs.value = heads(mixed[0], spec_.heads);
    inputs.log_decay = -(rate_.exp().unsqueeze(-1) * step);
    run.change(inputs);
    at::Tensor y = recurrence(inputs, run);
    y = (y + inputs.value * skip_.view({-1, 1, 1})).transpose(1, 2).flatten(2);  // (B, T, I)
    return {linear(run.output(gated(y, parts[0])), output_), run.map ? mixers::implied_map(inputs, skip_) : nullptr};
  }

 private:
  static at::Tensor heads(const at::Tensor& x, std::int64_t count) {
    return x.view({x.size(0), x.size(1), count, -1}).transpose(1, 2);
  }
  // Key heads as often as they have heads; a single one is not copied.
  at::Tensor repeated(const at::Tensor& x) const {
    return spec_.key_heads == 1             ? x.expand({-1, spec_.heads, -1, -1})
           : spec_.heads == spec_.key_heads ? x
                                            : x.repeat_interleave(spec_.heads / spec_.key_heads, 1);
  }
  // z, x, B, C and the steps times their factors.
  at::Tensor scaled(const at::Tensor& all) const {
    const std::int64_t states = spec_.key_heads * spec_.key_width;
    const std::array<std::pair<double, std::int64_t>, 5> parts{{{spec_.gate_factor, spec_.inner()},
                                                                {spec_.value_factor, spec_.inner()},
                                                                {spec_.write_factor, states},
                                                                {spec_.read_factor, states},
                                                                {spec_.step_factor, spec_.heads}}};
    if (std::all_of(parts.begin(), parts.end(), [](const auto& part) { return part.first == 1; })) {
      return all;
    }
    std::vector<at::Tensor> factors;
    for (const auto& [factor, size] : parts) {
      factors.push_back(at::full({size}, factor, all.options()));
    }
    return all * at::cat(factors);
  }
  at::Tensor normed(const at::Tensor& y) const {
    const at::Tensor groups = y.unflatten(-1, {spec_.norm_groups, -1});
    return normalise(groups, {}, Norm::kRms, spec_.norm_eps).flatten(-2) * norm_.weight;
  }
  at::Tensor gated(const at::Tensor& y, const at::Tensor& z) const {
    switch (spec_.norm) {
      case MixerNorm::kNone:
        return y * at::silu(z);
      case MixerNorm::kNormThenGate:
        return normed(y) * at::silu(z);
      case MixerNorm::kGateThenNorm:
        break;
    }
    return normed(y * at::silu(z));
  }

  MixerSpec spec_;
  std::int64_t width_;
  Linear input_, convolution_, output_;
  at::Tensor rate_, step_bias_, skip_;
  NormWeights norm_;
};

}  // namespace

std::unique_ptr<Mixer> make_state_space_mixer(const MixerSpec& mixer, std::int64_t width) {
  return std::make_unique<StateSpaceMixer>(mixer, width);
}

}  // namespace locus::transformer
