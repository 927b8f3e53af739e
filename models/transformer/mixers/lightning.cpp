// Lightning attention (arXiv 2501.08313): q, k and v are SiLU of one matrix, head by head, and
//
//   S_t = e^{−s} S_{t−1} + k_t ⊗ v_t,   y_t = S_tᵀ q_t,   s = 2^{−8(h+1)/H}·(1 − l/(L − 1 + 10⁻⁵) + 10⁻⁵)
//
// of head h in layer l of L. The output is the RMSNorm of all heads' y together, times σ(W_z x).
#include "models/transformer/mixers/kinds.h"

namespace locus::transformer {

namespace {

class LightningMixer : public Mixer {
 public:
  LightningMixer(const MixerSpec& spec, std::int64_t width, std::int64_t layer, std::int64_t layers)
      : spec_(spec), width_(width), slope_(lightning_slopes(spec.heads, layer, layers)) {}

  void collect(ParameterList& list, const std::string& prefix) override {
    list.linear(prefix + "qkv", 3 * spec_.inner(), width_, spec_.bias, qkv_);
    list.linear(prefix + "gate", spec_.inner(), width_, spec_.bias, gate_);
    list.norm(prefix + "norm", spec_.inner(), true, false, norm_);
    list.linear(prefix + "output", width_, spec_.inner(), spec_.bias, output_);
  }

  Mixed operator()(const at::Tensor& x, MixerRun& run) const override {
    const at::Tensor all = at::silu(linear(x, qkv_)).view({x.size(0), x.size(1), spec_.heads, -1}).transpose(1, 2);
    const std::vector<at::Tensor> parts = all.split(spec_.value_width, -1);
    mixers::DecayedInputs inputs{
        parts[0], parts[1], parts[2],
        -slope_.to(x.device()).to(x.scalar_type()).unsqueeze(-1).expand({x.size(0), spec_.heads, x.size(1)})};
    run.change(inputs);
    const at::Tensor y = recurrence(inputs, run).transpose(1, 2).flatten(2);
    const at::Tensor normed = normalise(y, norm_, Norm::kRms, spec_.norm_eps);
    return {linear(run.output(at::sigmoid(linear(x, gate_)) * normed), output_),
            run.map ? mixers::implied_map(inputs) : nullptr};
  }

 private:
  MixerSpec spec_;
  std::int64_t width_;
  at::Tensor slope_;  // (H)
  Linear qkv_, gate_, output_;
  NormWeights norm_;
};

}  // namespace

at::Tensor lightning_slopes(std::int64_t heads, std::int64_t layer, std::int64_t layers) {
  const double share = static_cast<double>(layer) / (static_cast<double>(layers) - 1 + 1e-5);
  const at::Tensor head = at::arange(1, heads + 1, at::kFloat);
  return at::exp2(head * (-8.0 / static_cast<double>(heads))) * (1 - share + 1e-5);
}

std::unique_ptr<Mixer> make_lightning_mixer(const MixerSpec& mixer, std::int64_t width, std::int64_t layer,
                                            std::int64_t layers) {
  return std::make_unique<LightningMixer>(mixer, width, layer, layers);
}

}  // namespace locus::transformer
