// Mamba's selective state space (arXiv 2312.00752): one matrix gives x and z (I each); x passes a causal convolution
// and SiLU, a second matrix gives the step (of a low rank), B and C (N each), and of each channel d
//
//   Δ = softplus(W_Δ step + b),   s_t = e^{Δ_t A_d} s_{t−1} + Δ_t B_t x_t,   y_t = ⟨C_t, s_t⟩ + D_d x_t,   A = −e^{rate}
//
// The output is y times SiLU(z).
#include "models/transformer/mixers/kinds.h"

namespace locus::transformer {

namespace {

class SelectiveMixer : public Mixer {
 public:
  SelectiveMixer(const MixerSpec& spec, std::int64_t width) : spec_(spec), width_(width) {}

  void collect(ParameterList& list, const std::string& prefix) override {
    const std::int64_t states = spec_.key_width;
    list.linear(prefix + "input", 2 * spec_.inner(), width_, spec_.bias, input_);
    list.tensor(prefix + "convolution.weight", {spec_.inner(), spec_.kernel}, convolution_.weight);
    if (spec_.kernel_bias) {
      list.tensor(prefix + "convolution.bias", {spec_.inner()}, convolution_.bias);
    }
    list.linear(prefix + "choice", spec_.step_rank + 2 * states, spec_.inner(), false, choice_);
    if (spec_.inner_norms) {
      list.norm(prefix + "step_norm", spec_.step_rank, true, false, step_norm_);
      list.norm(prefix + "write_norm", states, true, false, write_norm_);
      list.norm(prefix + "read_norm", states, true, false, read_norm_);
    }
    list.linear(prefix + "step", spec_.inner(), spec_.step_rank, true, step_);
    list.tensor(prefix + "rate", {spec_.inner(), states}, rate_);
    list.tensor(prefix + "skip", {spec_.inner()}, skip_);
    list.linear(prefix + "output", width_, spec_.inner(), spec_.bias, output_);
  }

  void initialise() override {
    convolution_.weight = first_kernel(spec_.inner(), spec_.kernel);
    rate_ = at::log(at::arange(1, spec_.key_width + 1, at::kFloat)).expand_as(rate_).clone();
    step_.bias = first_step_biases(spec_.inner());
    skip_ = at::ones({spec_.inner()});
  }

  Mixed operator()(const at::Tensor& x, MixerRun& run) const override {
    const std::vector<at::Tensor> parts = linear(x, input_).chunk(2, -1);
    const at::Tensor seen = at::silu(convolution(parts[0], convolution_, run));
    std::vector<at::Tensor> chosen =
        linear(seen, choice_).split_with_sizes({spec_.step_rank, spec_.key_width, spec_.key_width}, -1);
    if (spec_.inner_norms) {
      chosen[0] = normalise(chosen[0], step_norm_, Norm::kRms, spec_.norm_eps);
      chosen[1] = normalise(chosen[1], write_norm_, Norm::kRms, spec_.norm_eps);
      chosen[2] = normalise(chosen[2], read_norm_, Norm::kRms, spec_.norm_eps);
    }
    mixers::ScanInputs inputs{seen, at::softplus(linear(chosen[0], step_)), -rate_.exp(), chosen[1], chosen[2], skip_};
    run.change(inputs);
    const at::Tensor y = recurrence(inputs, run);
    return {linear(run.output(y * at::silu(parts[1])), output_),
            run.map ? mixers::implied_map(inputs, spec_.heads) : nullptr};
  }

 private:
  MixerSpec spec_;
  std::int64_t width_;
  Linear input_, convolution_, choice_, step_, output_;
  NormWeights step_norm_, write_norm_, read_norm_;
  at::Tensor rate_, skip_;
};

}  // namespace

std::unique_ptr<Mixer> make_selective_mixer(const MixerSpec& mixer, std::int64_t width) {
  return std::make_unique<SelectiveMixer>(mixer, width);
}

}  // namespace locus::transformer
