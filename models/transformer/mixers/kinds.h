// The kinds of mixers, and what they share.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>

#include "models/transformer/block.h"
#include "models/transformer/mixers/mixer.h"
#include "models/transformer/parameter_list.h"
#include "models/transformer/spec.h"

namespace locus::transformer {

std::unique_ptr<Mixer> make_delta_mixer(const MixerSpec& mixer, std::int64_t width);
std::unique_ptr<Mixer> make_state_space_mixer(const MixerSpec& mixer, std::int64_t width);
std::unique_ptr<Mixer> make_lightning_mixer(const MixerSpec& mixer, std::int64_t width, std::int64_t layer,
                                            std::int64_t layers);
std::unique_ptr<Mixer> make_convolution_mixer(const MixerSpec& mixer, std::int64_t width);
std::unique_ptr<Mixer> make_selective_mixer(const MixerSpec& mixer, std::int64_t width);
std::unique_ptr<Mixer> make_recurrence_mixer(const MixerSpec& mixer, std::int64_t width);

// First values of parameters. Decays whose memories last from a token to about a thousand: (n) rates ln A of A in
// 1 … 16, and biases of a step Δ in 0.001 … 0.1. Convolution weights (channels, K) within ±1/√K.
at::Tensor first_rates(std::int64_t n);
at::Tensor first_step_biases(std::int64_t n);
at::Tensor first_kernel(std::int64_t channels, std::int64_t kernel);
// x with softplus(x) = y.
at::Tensor inverse_softplus(const at::Tensor& y);

// (H) float32: s of the heads of lightning attention in a layer.
at::Tensor lightning_slopes(std::int64_t heads, std::int64_t layer, std::int64_t layers);

// Causal convolution of x (B, T, channels), and recurrences of their inputs: each continues the state that the run
// gives and leaves those of its marks.
at::Tensor convolution(const at::Tensor& x, const Linear& weights, MixerRun& run);
at::Tensor recurrence(const mixers::DecayedInputs& inputs, MixerRun& run);
at::Tensor recurrence(const mixers::DeltaInputs& inputs, MixerRun& run);
at::Tensor recurrence(const mixers::ScanInputs& inputs, MixerRun& run);
at::Tensor recurrence(const mixers::RecurrenceInputs& inputs, MixerRun& run);

}  // namespace locus::transformer
