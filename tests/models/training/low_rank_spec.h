// The shape of the networks that LoRA's tests add to.
#pragma once

#include "models/transformer/spec.h"

namespace locus::training {

// Two layers, of which each key head serves two queries: no two projections are of one shape.
inline transformer::Spec narrow_spec(transformer::QkvLayout layout) {
  transformer::Spec spec;
  spec.width = 12;
  spec.vocabulary = 20;
  spec.trained_length = 9;
  spec.encodings = {{"rope", {}}};
  transformer::LayerSpec layer;
  layer.attention.heads = 4;
  layer.attention.kv_heads = 2;
  layer.attention.head_width = 4;
  layer.attention.qkv = layout;
  layer.feed_forward.inner = 16;
  spec.repeat(layer, 2);
  return spec;
}

}  // namespace locus::training
