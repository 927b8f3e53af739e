// Shapes of models that several groups of the benchmark measure.
#pragma once

#include "models/transformer/spec.h"

namespace locus::models {

// A Llama of 1.2 billion parameters, as Llama 3.2 1B has them; a small one of the same kind for quick runs.
inline transformer::Spec billion_llama(bool quick, transformer::QkvLayout qkv) {
  transformer::Spec spec;
  spec.vocabulary = quick ? 1024 : 128256;
  spec.width = quick ? 256 : 2048;
  spec.tied_head = true;
  spec.encodings = {{"rope", {}}};
  transformer::LayerSpec layer;
  layer.attention.heads = quick ? 4 : 32;
  layer.attention.kv_heads = quick ? 2 : 8;
  layer.attention.head_width = 64;
  layer.attention.qkv = qkv;
  layer.feed_forward = {4 * spec.width, transformer::Activation::kSilu, true, false};
  spec.repeat(layer, quick ? 2 : 16);
  spec.trained_length = 2048;
  return spec;
}

}  // namespace locus::models
