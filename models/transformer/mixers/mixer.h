// Mixer: what mixes the tokens of a layer without a soft-max. Each kind is a file of this folder, over the mathematics
// of core/mixers.
//
// Letters: B batch, T tokens, C width, H heads, G key heads, D key width, P value width, I = H·P, K tokens of the
// causal convolution.
#pragma once

#include <ATen/ATen.h>

#include <memory>
#include <string>

#include "core/mixers/implied_map.h"
#include "models/transformer/spec.h"

namespace locus::transformer {

class ParameterList;

// What a mixer keeps of the tokens that it has read; undefined before the first one.
struct MixerState {
  at::Tensor convolution;  // (B, K−1, channels), the last inputs of its convolution
  at::Tensor recurrence;   // in the shape of its kind (core/mixers)
};

struct Mixed {
  at::Tensor output;                              // (B, T, C)
  std::shared_ptr<const mixers::ImpliedMap> map;  // of a batch of one, where it is asked for
};

class Mixer {
 public:
  virtual ~Mixer() = default;
  // Appends the parameters, under `prefix` ("layers.3.mixer.").
  virtual void collect(ParameterList& list, const std::string& prefix) = 0;
  // Sets the parameters for which small random numbers are a bad start, as the authors' code does.
  virtual void initialise() {}
  // Reads x (B, T, C), tokens behind those that `state` holds, and leaves the state behind them.
  virtual Mixed operator()(const at::Tensor& x, MixerState& state, bool map) const = 0;
};

// The mixer of a layer; null where it has none.
std::unique_ptr<Mixer> make_mixer(const Spec& spec, std::int64_t layer);

}  // namespace locus::transformer
