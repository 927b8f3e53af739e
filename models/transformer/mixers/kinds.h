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

// SiLU(causal convolution of x), (B, T, channels): the state's inputs come before x.
at::Tensor convolved(const at::Tensor& x, const Linear& weights, MixerState& state);

}  // namespace locus::transformer
