// Batch: one run's input, with the edits and picture embeddings of that run.
//
// Letters: B batch, T tokens, C width, H heads, D head width.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "core/attention/attend.h"
#include "core/position/position_encoding.h"

namespace locus::transformer {

struct MixerEdit;

// Differences of one run in one layer from what the checkpoint specifies (models/edits/run_edits.h makes them).
struct LayerEdit {
  // Replaces the layer's encoding and applies the soft cap of the logits itself. Null: the layer's own encoding.
  std::shared_ptr<const position::PositionEncoding> encoding;
  std::vector<std::int64_t> replaced;                // heads with given attention weights: a sink gets no weight there
  std::vector<std::int64_t> silent;                  // zero ablation: heads whose output is 0
  std::vector<std::int64_t> averaged;                // mean ablation: heads whose output is its mean over the queries
  std::shared_ptr<const MixerEdit> mixer = nullptr;  // of the layer's mixer; null: none
  // Silent and averaged heads of each sequence of a batch, in place of those above; empty: those above in all.
  std::vector<LayerEdit> sequences = {};

  // The layer's `sinks` (H), −∞ for replaced heads; undefined where `own` is.
  at::Tensor sinks(const at::Tensor& own) const;
  // Ablates the outputs of silent and averaged heads, in place.
  void change_output(attention::Attended& attended) const;
};
using LayerEdits = std::vector<LayerEdit>;  // an entry per layer

// Picture embeddings within a text: vectors in place of the tokens' embeddings.
struct ImageRows {
  at::Tensor tokens;              // (N) int64, ascending: the tokens whose embedding is replaced, in every sequence
  at::Tensor vectors;             // (N, C), or (B, N, C) for a batch
  std::vector<at::Tensor> added;  // shaped as `vectors`: entry K is added to those tokens after layer K (DeepStack)
};

struct Batch {
  at::Tensor ids;     // (B, T) int64; undefined for images
  at::Tensor pixels;  // (B, channels, height, width) float32, normalised; or rows of patches (B, P, …) where
                      // ImageStem::frames is set; undefined for texts
  position::Positions positions;                      // positions of all T tokens; see Transformer::positions()
  at::Tensor memory = {};                             // (B, K, C) encoder states, for layers with cross-attention
  std::shared_ptr<const LayerEdits> edits = nullptr;  // null: none
  std::shared_ptr<const ImageRows> images = nullptr;  // pictures in a text; null: none
  // Tokens that attend to each other whatever their order; `tiles` for layers with attention tiles. Null: none.
  std::shared_ptr<const attention::Blocks> blocks = nullptr;
  std::shared_ptr<const attention::Blocks> tiles = nullptr;

  // B.
  std::int64_t size() const { return pixels.defined() ? pixels.size(0) : ids.size(0); }
  // x (B, R, C), embeddings of the tokens from `first` on, with the picture vectors in their places.
  at::Tensor with_images(std::int64_t first, at::Tensor x) const;
  // x (B, R, C) after `layer`, with the picture vectors added there.
  at::Tensor with_images_after(std::int64_t layer, std::int64_t first, at::Tensor x) const;
};

}  // namespace locus::transformer
