// Mixer: what mixes the tokens of a layer without a soft-max. Each kind is a file of this folder, over the mathematics
// of core/mixers.
//
// Letters: B batch, T tokens, C width, H heads, G key heads, D key width, P value width, I = H·P, K tokens of the
// causal convolution.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/mixers/implied_map.h"
#include "models/transformer/mixers/mixer_edit.h"
#include "models/transformer/spec.h"

namespace locus::transformer {

class ParameterList;

// What a mixer keeps of the tokens that it has read; undefined before the first one.
struct MixerState {
  at::Tensor convolution;  // (B, K−1, channels), the last inputs of its convolution
  at::Tensor recurrence;   // in the shape of its kind (core/mixers)
};

// The state behind so many tokens, from which a run that begins with them may go on.
struct MixerMark {
  std::int64_t tokens = 0;
  MixerState state;
};

// The tokens behind which a run of `length` tokens keeps marks, ascending: all of them, one less, since typing replaces
// the last token of most words, and the last multiples of 16 and of 256 before those, so that a text of which token after
// token is deleted is not run from its begin each time. Every one of a run lies in a run of one token less or behind its
// end, so that typed tokens lose none.
std::vector<std::int64_t> marks_of(std::int64_t length);

// How a mixer reads x.
struct MixerRun {
  MixerState before;             // behind the tokens before x
  at::Tensor positions;          // (T) or (T, D), of x
  std::vector<MixerMark> marks;  // tokens of x, ascending, the last mark at T; the mixer fills their states in
  bool map = false;              // makes the map, of a batch of one
  // Null: none. Its tokens are those of a whole run, which x then is.
  const MixerEdit* edit = nullptr;

  // Changes the inputs of the recurrence, as MixerEdit::change() does.
  template <class... Inputs>
  void change(Inputs&... inputs) const {
    if (edit != nullptr) {
      edit->change(inputs...);
    }
  }
  // The rows (B, T, I) that enter the output projection.
  at::Tensor output(const at::Tensor& y) const { return edit == nullptr ? y : edit->output(y); }
};

struct Mixed {
  at::Tensor output;                              // (B, T, C)
  std::shared_ptr<const mixers::ImpliedMap> map;  // of x alone; null where it is not asked for
};

class Mixer {
 public:
  virtual ~Mixer() = default;
  // Appends the parameters, under `prefix` ("layers.3.mixer.").
  virtual void collect(ParameterList& list, const std::string& prefix) = 0;
  // Sets the parameters for which small random numbers are a bad start, as the authors' code does.
  virtual void initialise() {}
  // Mixes x (B, T, C).
  virtual Mixed operator()(const at::Tensor& x, MixerRun& run) const = 0;
};

// The mixer of a layer; null where it has none.
std::unique_ptr<Mixer> make_mixer(const Spec& spec, std::int64_t layer);

}  // namespace locus::transformer
