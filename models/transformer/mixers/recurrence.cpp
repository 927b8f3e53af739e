// RG-LRU (arXiv 2402.19427): x passes a causal convolution; with gates r and i, σ of matrices of H blocks,
//
//   a_t = e^{−8 r_t softplus(Λ)},   h_t = a_t h_{t−1} + √(1 − a_t²) i_t x_t   of each channel
//
// A token at position 0 begins a text: its a is 0. The output is h times GELU(W_y x).
#include "models/transformer/mixers/kinds.h"

namespace locus::transformer {

namespace {

class RecurrenceMixer : public Mixer {
 public:
  RecurrenceMixer(const MixerSpec& spec, std::int64_t width) : spec_(spec), width_(width) {}

  void collect(ParameterList& list, const std::string& prefix) override {
    const std::int64_t block = spec_.value_width;
    list.linear(prefix + "gate", spec_.inner(), width_, spec_.bias, gate_);
    list.linear(prefix + "input", spec_.inner(), width_, spec_.bias, input_);
    list.tensor(prefix + "convolution.weight", {spec_.inner(), spec_.kernel}, convolution_.weight);
    if (spec_.kernel_bias) {
      list.tensor(prefix + "convolution.bias", {spec_.inner()}, convolution_.bias);
    }
    list.tensor(prefix + "write.weight", {spec_.heads, block, block}, write_.weight);
    list.tensor(prefix + "write.bias", {spec_.heads, block}, write_.bias);
    list.tensor(prefix + "forget.weight", {spec_.heads, block, block}, forget_.weight);
    list.tensor(prefix + "forget.bias", {spec_.heads, block}, forget_.bias);
    list.tensor(prefix + "rate", {spec_.inner()}, rate_);
    list.linear(prefix + "output", width_, spec_.inner(), spec_.bias, output_);
  }

  void initialise() override {
    convolution_.weight = first_kernel(spec_.inner(), spec_.kernel);
    // Decays a of 0.9 … 0.999 where the gate r is 1.
    rate_ = inverse_softplus(at::log(at::empty({spec_.inner()}).uniform_(0.9, 0.999)) / -8.0);
  }

  Mixed operator()(const at::Tensor& x, MixerRun& run) const override {
    // Only the first token of a run can stand at position 0.
    const bool begins = !run.before.recurrence.defined() && run.positions.flatten()[0].item<double>() == 0;
    const at::Tensor seen = convolution(linear(x, input_), convolution_, run);
    const at::Tensor log_decay = at::sigmoid(by_block(seen, forget_)) * (at::softplus(rate_) * -8.0);
    at::Tensor share = at::sqrt(-at::expm1(log_decay * 2));
    if (begins) {
      share = at::cat({at::ones_like(share.narrow(1, 0, 1)), share.narrow(1, 1, share.size(1) - 1)}, 1);
    }
    at::Tensor written = at::sigmoid(by_block(seen, write_)) * share;
    mixers::RecurrenceInputs inputs{seen * written, log_decay};
    run.change(inputs, written);
    const at::Tensor h = recurrence(inputs, run);
    return {linear(run.output(h * at::gelu(linear(x, gate_), "tanh")), output_),
            run.map ? mixers::implied_map(inputs, written, spec_.heads) : nullptr};
  }

 private:
  // x (B, T, I) by blocks of channels through (H, P, P) matrices, x·W + b.
  at::Tensor by_block(const at::Tensor& x, const Linear& blocks) const {
    const at::Tensor parts = x.view({-1, spec_.heads, spec_.value_width}).transpose(0, 1);  // (H, B·T, P)
    return (at::bmm(parts, blocks.weight).transpose(0, 1) + blocks.bias).reshape(x.sizes());
  }

  MixerSpec spec_;
  std::int64_t width_;
  Linear gate_, input_, convolution_, write_, forget_, output_;
  at::Tensor rate_;
};

}  // namespace

std::unique_ptr<Mixer> make_recurrence_mixer(const MixerSpec& mixer, std::int64_t width) {
  return std::make_unique<RecurrenceMixer>(mixer, width);
}

}  // namespace locus::transformer
