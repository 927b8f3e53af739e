// A compact Llama-shaped decoder around any position encoding, in whole maps: what the golden files of TAPE and the
// properties of encodings that renew their state are checked with. Every intermediate is kept.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/position/position_encoding.h"

namespace locus::test {

// State-dict names of Hugging Face's Llama ("model.layers.0.self_attn.q_proj.weight") -> tensors.
using Weights = std::map<std::string, at::Tensor>;

struct LlamaLayer {
  position::State entering;
  position::State leaving;
  at::Tensor attention;         // (B, H, T, T) weights
  at::Tensor attention_output;  // (B, T, C) before the residual
  at::Tensor mean_state;        // (B, H, T, X) attention-weighted state values
  at::Tensor feed_forward;      // (B, T, C) before the residual
  at::Tensor hidden;            // (B, T, C) leaving
};

struct LlamaRun {
  std::vector<LlamaLayer> layers;
  at::Tensor logits;  // (B, T, V)
};

// RMSNorm (eps 1e-5), SwiGLU, no shared key heads; causal if the encoding's shape is. ids (B, T).
LlamaRun run_llama(const Weights& weights, const position::PositionEncoding& encoding, const at::Tensor& ids,
                   const position::Positions& positions);
// The same from a given first state, e.g. a turned one, and with any mask: `hidden` (T, T) bool, true where key j is
// out of query i's sight.
LlamaRun run_llama(const Weights& weights, const position::PositionEncoding& encoding, const at::Tensor& ids,
                   position::State state, const at::Tensor& hidden = {});

// Random weights of a small model of this shape: vocabulary 50, inner width 1.5 C.
Weights random_llama(const position::ModelShape& shape, std::uint64_t seed);
// Every parameter of `encoding` drawn anew, normal with this deviation: nothing is zero.
void randomise(position::PositionEncoding& encoding, double deviation, std::uint64_t seed);

}  // namespace locus::test
