// The gated delta rule (arXiv 2412.06464), and with a decay for each channel KDA (arXiv 2510.26692). q, k and v pass a
// causal convolution and SiLU, q and k get unit length, and
//
//   S_t = e^{g_t} S_{t−1},   S_t += k_t ⊗ β_t (v_t − S_tᵀ k_t),   y_t = S_tᵀ q_t/√D,   β = σ(W_β x)
//   g = −e^{rate}·softplus(W_g x + step_bias), of a head; or of each channel of its keys
//
// The output is RMSNorm(y) of each head, times SiLU or σ of a gate W_z x.
#include <cmath>

#include "models/transformer/mixers/kinds.h"

namespace locus::transformer {

namespace {

// x/√(Σx² + 10⁻⁶) over the last dimension.
at::Tensor of_unit_length(const at::Tensor& x) {
  return x * at::rsqrt(x.square().sum(-1, true) + 1e-6);
}

class DeltaMixer : public Mixer {
 public:
  DeltaMixer(const MixerSpec& spec, std::int64_t width) : spec_(spec), width_(width) {}

  void collect(ParameterList& list, const std::string& prefix) override {
    const std::int64_t keys = spec_.key_heads * spec_.key_width;
    const std::int64_t values = spec_.inner();
    if (spec_.qkv == QkvLayout::kPerHead) {
      list.linear(prefix + "qkvz", 2 * (keys + values), width_, false, qkv_);
      list.linear(prefix + "beta_decay", 2 * spec_.heads, width_, false, beta_);
    } else {
      if (spec_.qkv == QkvLayout::kFused) {
        list.linear(prefix + "qkv", 2 * keys + values, width_, false, qkv_);
      } else {
        list.linear(prefix + "query", keys, width_, false, query_);
        list.linear(prefix + "key", keys, width_, false, key_);
        list.linear(prefix + "value", values, width_, false, value_);
      }
      low_rank(list, prefix + "gate", values, gate_down_, gate_);
      list.linear(prefix + "beta", spec_.heads, width_, false, beta_);
      low_rank(list, prefix + "decay", spec_.channel_decay ? keys : spec_.heads, decay_down_, decay_);
    }
    list.tensor(prefix + "convolution.weight", {2 * keys + values, spec_.kernel}, convolution_.weight);
    list.tensor(prefix + "rate", {spec_.heads}, rate_);
    list.tensor(prefix + "step_bias", {spec_.channel_decay ? keys : spec_.heads}, step_bias_);
    list.norm(prefix + "norm", spec_.value_width, true, false, norm_);
    list.linear(prefix + "output", width_, values, false, output_);
  }

  void initialise() override {
    convolution_.weight = first_kernel(convolution_.weight.size(0), spec_.kernel);
    rate_ = first_rates(spec_.heads);
    step_bias_ = first_step_biases(step_bias_.size(0));
  }

  Mixed operator()(const at::Tensor& x, MixerRun& run) const override {
    const Parts parts = spec_.qkv == QkvLayout::kPerHead ? per_head(x) : projected(x);
    const std::int64_t keys = spec_.key_heads * spec_.key_width;
    const std::vector<at::Tensor> qkv =
        at::silu(convolution(parts.qkv, convolution_, run)).split_with_sizes({keys, keys, spec_.inner()}, -1);
    mixers::DeltaInputs inputs;
    inputs.query =
        repeated(of_unit_length(heads(qkv[0], spec_.key_heads))) / std::sqrt(static_cast<double>(spec_.key_width));
    inputs.key = repeated(of_unit_length(heads(qkv[1], spec_.key_heads)));
    inputs.value = grouped(heads(qkv[2], spec_.heads));
    inputs.beta = grouped(at::sigmoid(parts.beta).transpose(1, 2) * spec_.beta_scale);
    inputs.log_decay = grouped(log_decay(parts.decay));
    run.change(inputs);
    const at::Tensor normed = normalise(recurrence(inputs, run), norm_, Norm::kRms, spec_.norm_eps);  // (B, H, T, P)
    const at::Tensor gate = grouped(heads(parts.gate, spec_.heads));
    const at::Tensor gated = normed * (spec_.sigmoid_gate ? at::sigmoid(gate) : at::silu(gate));
    const at::Tensor rows = tiled(heads(run.output(gated.transpose(1, 2).flatten(2)), spec_.heads));
    return {linear(rows.transpose(1, 2).flatten(2), output_), run.map ? mixers::implied_map(inputs) : nullptr};
  }

 private:
  // Projections of x: q|k|v (B, T, 2·G·D + I), gate (B, T, I), beta (B, T, H), decay (B, T, H or G·D).
  struct Parts {
    at::Tensor qkv, gate, beta, decay;
  };

  void low_rank(ParameterList& list, const std::string& name, std::int64_t out, Linear& down, Linear& up) const {
    if (spec_.gate_rank == 0) {
      list.linear(name, out, width_, false, up);
      return;
    }
    list.linear(name + "_down", spec_.gate_rank, width_, false, down);
    list.linear(name + "_up", out, spec_.gate_rank, false, up);
  }
  at::Tensor through(const at::Tensor& x, const Linear& down, const Linear& up) const {
    return linear(spec_.gate_rank == 0 ? x : linear(x, down), up);
  }

  Parts projected(const at::Tensor& x) const {
    return {spec_.qkv == QkvLayout::kFused ? linear(x, qkv_)
                                           : at::cat({linear(x, query_), linear(x, key_), linear(x, value_)}, -1),
            through(x, gate_down_, gate_), linear(x, beta_), through(x, decay_down_, decay_)};
  }
  Parts per_head(const at::Tensor& x) const {
    const std::int64_t group = spec_.heads / spec_.key_heads;
    const std::int64_t values = group * spec_.value_width;
    const auto by_head = [&](const Linear& weights) {
      return linear(x, weights).view({x.size(0), x.size(1), spec_.key_heads, -1});
    };
    const std::vector<at::Tensor> all =
        by_head(qkv_).split_with_sizes({spec_.key_width, spec_.key_width, values, values}, -1);
    const std::vector<at::Tensor> numbers = by_head(beta_).split(group, -1);
    return {at::cat({all[0].flatten(2), all[1].flatten(2), all[2].flatten(2)}, -1), all[3].flatten(2),
            numbers[0].flatten(2), numbers[1].flatten(2)};
  }

  // (B, T, n·W) -> (B, n, T, W)
  static at::Tensor heads(const at::Tensor& x, std::int64_t count) {
    return x.view({x.size(0), x.size(1), count, -1}).transpose(1, 2);
  }
  // Key heads as often as they have value heads.
  at::Tensor repeated(const at::Tensor& x) const {
    return spec_.heads == spec_.key_heads ? x : x.repeat_interleave(spec_.heads / spec_.key_heads, 1);
  }

  // Value heads (B, H, …) from the weights' order to that of their key heads, and back.
  at::Tensor grouped(const at::Tensor& x) const { return regrouped(x, spec_.heads / spec_.key_heads); }
  at::Tensor tiled(const at::Tensor& x) const { return regrouped(x, spec_.key_heads); }
  at::Tensor regrouped(const at::Tensor& x, std::int64_t rows) const {
    return spec_.tiled_values ? x.unflatten(1, {rows, -1}).transpose(1, 2).flatten(1, 2) : x;
  }

  // (B, H, T) or (B, H, T, D)
  at::Tensor log_decay(const at::Tensor& decay) const {
    const at::Tensor step = decay + step_bias_;
    const at::Tensor rate = rate_.exp();
    if (!spec_.channel_decay) {
      return -(rate * at::softplus(step)).transpose(1, 2);
    }
    const at::Tensor channels = heads(step, spec_.heads);
    const at::Tensor of_head = rate.view({-1, 1, 1});
    return spec_.decay_floor < 0 ? at::sigmoid(of_head * channels) * spec_.decay_floor
                                 : -(of_head * at::softplus(channels));
  }

  MixerSpec spec_;
  std::int64_t width_;
  Linear qkv_, query_, key_, value_, gate_down_, gate_, beta_, decay_down_, decay_, output_;
  Linear convolution_;
  at::Tensor rate_, step_bias_;
  NormWeights norm_;
};

}  // namespace

std::unique_ptr<Mixer> make_delta_mixer(const MixerSpec& mixer, std::int64_t width) {
  return std::make_unique<DeltaMixer>(mixer, width);
}

}  // namespace locus::transformer
