// The gated short convolution of LFM2: one matrix gives B, C and x (I each), and y = C ⊙ (w ∗ (B ⊙ x)), w of K tokens
// for each channel. A token is seen for K tokens, whatever it says.
#include "models/transformer/mixers/kinds.h"

namespace locus::transformer {

namespace {

class ConvolutionMixer : public Mixer {
 public:
  ConvolutionMixer(const MixerSpec& spec, std::int64_t width) : spec_(spec), width_(width) {}

  void collect(ParameterList& list, const std::string& prefix) override {
    list.linear(prefix + "input", 3 * spec_.inner(), width_, spec_.bias, input_);
    list.tensor(prefix + "convolution.weight", {spec_.inner(), spec_.kernel}, convolution_.weight);
    if (spec_.kernel_bias) {
      list.tensor(prefix + "convolution.bias", {spec_.inner()}, convolution_.bias);
    }
    list.linear(prefix + "output", width_, spec_.inner(), spec_.bias, output_);
  }

  void initialise() override { convolution_.weight = first_kernel(spec_.inner(), spec_.kernel); }

  Mixed operator()(const at::Tensor& x, MixerRun& run) const override {
    const std::vector<at::Tensor> parts = linear(x, input_).chunk(3, -1);
    const at::Tensor seen = convolution(parts[0] * parts[2], convolution_, run);
    return {
        linear(run.output(parts[1] * seen), output_),
        run.map ? mixers::implied_map_of_convolution(parts[0], parts[1], convolution_.weight, spec_.heads) : nullptr};
  }

 private:
  MixerSpec spec_;
  std::int64_t width_;
  Linear input_, convolution_, output_;
};

}  // namespace

std::unique_ptr<Mixer> make_convolution_mixer(const MixerSpec& mixer, std::int64_t width) {
  return std::make_unique<ConvolutionMixer>(mixer, width);
}

}  // namespace locus::transformer
