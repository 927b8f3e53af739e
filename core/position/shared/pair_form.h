// PairForm: a layer's logit as a sum of parts, one for each group of channels that turn together,
//   logit_ij = scale() · ( Σ_m e^{δ·decay_m} ⟨q_i^m, k_j^m⟩ + ⟨q_i^rest, k_j^rest⟩ ),   δ = p_i − p_j
// with q and k of a Prepared, which are turned already: as complex numbers, q_i^m = magnitude · e^{ι p_i·θ_m} times
// what the layer projects. TAPA's logit is no such sum; it is modulated, and its parts are the amplitude and what the
// cosine takes away from it (see Modulation).
//
// Letters: M pairs, H heads, P the dimensions of a position (1 in a text, row and column in an image).
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/position/position_encoding.h"
#include "core/position/shared/rotation.h"

namespace locus::position {

// logit = a·cos(2π·|δ|^alpha·φ): a and φ from channels of their own. Parts: a, and a·(cos − 1).
struct Modulation {
  double alpha = 0;
  bool linear = false;         // φ = phase_scale·(Σ q_φ + Σ k_φ) instead of phase_scale·q_φ·k_φ
  double amplitude_scale = 1;  // a = amplitude_scale·q_a·k_a
  double phase_scale = 1;
};

struct PairForm {
  std::vector<std::vector<std::int64_t>> channels;  // (M) of Prepared::query and key; modulated: amplitude and phase
  std::vector<std::int64_t> rest;                   // channels that do not turn; empty: none
  // The channels of the unrotated query and key that pair m turns, two each: empty where a block is no plane.
  std::vector<std::vector<std::int64_t>> planes;
  at::Tensor frequencies;   // (1 or H, M, P) float64 θ, radians a step; undefined: a state of its own, or a modulation
  at::Tensor offsets;       // (M) float64 radians more at every position; undefined: none
  at::Tensor class_angles;  // (n, M) float64 radians of the first n tokens without position; undefined: none turns
  // (H, M) float64 radians by which the queries of a head are turned less, wherever they stand (PoPE's δ); undefined: none.
  at::Tensor query_phases;
  double magnitude = 1;            // of cos and sin, held by q and by k once each
  at::Tensor decay;                // (M) float64, ln of the factor a token of distance; undefined: none
  std::vector<std::string> names;  // (M), or (H·M) where heads differ, head by head; empty: numbers
  // q and k are turned by a state that the text has changed: what they were is the content alone, not to be had by
  // turning back. `frequencies` are the state's at its start.
  bool state = false;
  std::optional<Modulation> modulation;

  std::int64_t pairs() const { return static_cast<std::int64_t>(channels.size()); }
  std::string name(std::int64_t head, std::int64_t pair) const;
};

// An encoding that turns pairs of channels.
class Paired {
 public:
  virtual ~Paired() = default;
  // The pairs of `layer` over these tokens. Errors: kUnsupported where its options leave none.
  virtual Result<PairForm> pair_form(const Prepared& prepared, std::int64_t layer) const = 0;
};

// The pairs of any encoding. Errors: kUnsupported, saying what the encoding does instead.
Result<PairForm> pair_form(const PositionEncoding& encoding, const Prepared& prepared, std::int64_t layer);

// Which channels the pairs 0 … pairs − 1 of a rotation are, in this layout; and the channels from `begin` on.
std::vector<std::vector<std::int64_t>> pair_channels(std::int64_t pairs, PairLayout layout);
std::vector<std::int64_t> channels_from(std::int64_t begin, std::int64_t width);

}  // namespace locus::position
