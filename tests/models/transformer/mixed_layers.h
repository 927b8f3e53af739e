// Kinds of layers without a soft-max, in small models whose weights leave nothing negligible.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "models/transformer/transformer.h"

namespace locus::test {

// What is changed in a small decoder of three layers.
struct LayerKind {
  const char* name;
  void (*change)(transformer::Spec& spec);
};

// A mixer of four heads and two key heads in the first layer and the last.
inline void mix_layers(transformer::Spec& spec, transformer::Mixing kind,
                       void (*change)(transformer::MixerSpec& mixer) = nullptr) {
  transformer::MixerSpec mixer;
  mixer.kind = kind;
  mixer.heads = 4;
  mixer.key_heads = 2;
  mixer.key_width = 6;
  mixer.value_width = 5;
  mixer.kernel = 3;
  mixer.step_rank = 3;
  if (change != nullptr) {
    change(mixer);
  }
  for (transformer::LayerSpec* layer : {&spec.layers.front(), &spec.layers.back()}) {
    layer->mixer = mixer;
    layer->attends = false;
    layer->encoding = -1;
  }
}

inline const std::vector<LayerKind> kMixedKinds{
    {"gated delta rule", [](transformer::Spec& spec) { mix_layers(spec, transformer::Mixing::kDelta); }},
    {"gated delta rule by key head, with writes that turn signs",
     [](transformer::Spec& spec) {
       mix_layers(spec, transformer::Mixing::kDelta, [](transformer::MixerSpec& mixer) {
         mixer.qkv = transformer::QkvLayout::kPerHead;
         mixer.beta_scale = 2;
       });
     }},
    {"KDA",
     [](transformer::Spec& spec) {
       mix_layers(spec, transformer::Mixing::kDelta, [](transformer::MixerSpec& mixer) {
         mixer.key_heads = 4;
         mixer.qkv = transformer::QkvLayout::kSeparate;
         mixer.channel_decay = mixer.sigmoid_gate = true;
         mixer.gate_rank = 4;
       });
     }},
    {"KDA with a floor",
     [](transformer::Spec& spec) {
       mix_layers(spec, transformer::Mixing::kDelta, [](transformer::MixerSpec& mixer) {
         mixer.key_heads = 4;
         mixer.channel_decay = true;
         mixer.decay_floor = -5;
       });
     }},
    {"Mamba-2",
     [](transformer::Spec& spec) {
       mix_layers(spec, transformer::Mixing::kStateSpace, [](transformer::MixerSpec& mixer) {
         mixer.norm = transformer::MixerNorm::kGateThenNorm;
         mixer.norm_groups = 2;
         mixer.kernel_bias = mixer.bias = true;
         mixer.least_step = 0.1;
         mixer.most_step = 0.9;
       });
     }},
    {"Mamba-2 with factors, beside attention",
     [](transformer::Spec& spec) {
       mix_layers(spec, transformer::Mixing::kStateSpace, [](transformer::MixerSpec& mixer) {
         mixer.norm = transformer::MixerNorm::kNone;
         mixer.gate_factor = 0.7;
         mixer.value_factor = 1.2;
         mixer.write_factor = 0.8;
         mixer.read_factor = 1.1;
         mixer.step_factor = 0.5;
       });
       for (transformer::LayerSpec& layer : spec.layers) {
         layer.attends = true;
         layer.encoding = 0;
         layer.attention_input = 0.9;
         layer.attention_output = 0.8;
         layer.mixer_input = 1.1;
         layer.mixer_output = 0.6;
         layer.feed_forward.gate_factor = 0.7;
       }
     }},
    {"lightning attention",
     [](transformer::Spec& spec) {
       mix_layers(spec, transformer::Mixing::kLightning,
                  [](transformer::MixerSpec& mixer) { mixer.key_heads = 4, mixer.key_width = 5; });
     }},
    {"short convolution", [](transformer::Spec& spec) { mix_layers(spec, transformer::Mixing::kConvolution); }},
    {"Mamba with inner norms",
     [](transformer::Spec& spec) {
       mix_layers(spec, transformer::Mixing::kSelective,
                  [](transformer::MixerSpec& mixer) { mixer.inner_norms = mixer.kernel_bias = true; });
     }},
    {"RG-LRU",
     [](transformer::Spec& spec) {
       mix_layers(spec, transformer::Mixing::kRecurrence,
                  [](transformer::MixerSpec& mixer) { mixer.kernel_bias = mixer.bias = true; });
     }},
    {"a mixer with norms on both sides",
     [](transformer::Spec& spec) {
       mix_layers(spec, transformer::Mixing::kDelta);
       spec.each([](std::int64_t, transformer::LayerSpec& layer) {
         layer.attention_norm = layer.feed_forward_norm = transformer::NormPlace::kBoth;
       });
     }},
    {"layers of one part", [](transformer::Spec& spec) {
       mix_layers(spec, transformer::Mixing::kStateSpace);
       spec.layers[0].feeds = false;
       spec.layers[1].feeds = false;
       spec.layers[2].mixer = {};
     }}};

inline std::unique_ptr<transformer::Transformer> kind_model(const LayerKind& kind) {
  transformer::Spec spec;
  transformer::LayerSpec layer;
  spec.vocabulary = 40;
  spec.width = 32;
  spec.trained_length = 32;
  layer.attention.head_width = 8;
  layer.attention.kv_heads = 2;
  layer.feed_forward.inner = 24;
  spec.repeat(layer, 3);
  kind.change(spec);
  auto made = transformer::Transformer::create(spec, true, 3);
  if (!made.ok()) {
    ADD_FAILURE() << kind.name << ": " << made.error().describe();
    return nullptr;
  }
  const at::NoGradGuard no_grad;
  for (const transformer::Parameter& parameter : (*made)->parameters()) {
    parameter.value->add_(at::randn_like(*parameter.value) * 0.3);
  }
  return std::move(*made);
}

}  // namespace locus::test
