// Map of a layer that has no soft-max: the lower triangular M with y_i = Σ_j M_ij v_j, exactly, for the inputs of one
// run. Entries have both signs and rows do not sum to 1. Letters: causal_convolution.h.
//
//   decayed attention    M_ij = (q_i·k_j) e^{c_i − c_j} + D δ_ij,  c_i = Σ_{s ≤ i} g_s
//   delta rule           M = tril(Q Kᵀ ∘ W) (I + tril(diag(β) (K Kᵀ ∘ W), −1))⁻¹ diag(β),  W_ij = e^{c_i − c_j}
//   selective scan       M_ij = Σ_n C_in B_jn e^{A_n (t_i − t_j)} Δ_j + D δ_ij,  t = Σ Δ
//   gated recurrence     M_ij = e^{c_i − c_j} gate_j
//   short convolution    M_ij = after_i weight[K−1−(i−j)] before_j,  0 ≤ i − j < K
//
// The last three are maps of channels, of which there are too many: a `band` is a group of neighbouring channels, as
// many in each, and its M the mean of theirs. Computed without gradients, in the type of the inputs. Inputs are a batch
// of one. Immutable from outside: calls may come from several threads.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/progress.h"
#include "core/base/range.h"
#include "core/mixers/decayed_attention.h"
#include "core/mixers/delta_rule.h"
#include "core/mixers/gated_recurrence.h"
#include "core/mixers/selective_scan.h"

namespace locus::mixers {

// kOff: M of inputs whose log decays are all 0, which is what content alone would do.
enum class Decay { kOwn, kOff };

class ImpliedMap {
 public:
  virtual ~ImpliedMap() = default;

  virtual std::int64_t heads() const = 0;  // H, or bands
  virtual std::int64_t length() const = 0;
  // (h, R, K) cells of M, 0 above the diagonal. Memory is that of the tile and of what a block of its rows needs.
  virtual at::Tensor tile(Range heads, Range rows, Range columns, Decay decay = Decay::kOwn) const = 0;
  // (H, T) ln ½ / g_t, the half-life in tokens of a state under the log decay g_t of each token; +∞ where nothing
  // decays. The median over the channels of a head or band, of a scan's channel that over its states; the lower one of
  // two in the middle. Undefined where nothing ever decays (short convolution).
  virtual at::Tensor half_life() const = 0;
  // (H, T) float64 ‖S_t‖, the Frobenius norm of a head's state behind each token, of a band that of all its channels';
  // of the recurrence token by token, in the memory of one state. Undefined without a state (short convolution), and
  // where it was stopped.
  virtual at::Tensor state_norm(const StopToken& stop = {}) const = 0;
  // (H, T, P) v; undefined for bands.
  virtual at::Tensor value() const = 0;

  // The map of the inputs of its first `count` tokens and then of those of `later`, a map of the same kind that was made
  // of the inputs of the tokens after them alone. Copies about log T of T rows.
  virtual std::shared_ptr<const ImpliedMap> continued(std::int64_t count, const ImpliedMap& later) const = 0;
  // The tensors that it holds a row per token in, for counting memory.
  virtual std::vector<at::Tensor> inputs() const = 0;
};

// `skip` (H) D or undefined. M multiplies `value` as it stands: Mamba-2's Δ belongs to the key where there is a skip.
std::shared_ptr<const ImpliedMap> implied_map(const DecayedInputs& inputs, const at::Tensor& skip = {});
std::shared_ptr<const ImpliedMap> implied_map(const DeltaInputs& inputs);
// `bands` divides C.
std::shared_ptr<const ImpliedMap> implied_map(const ScanInputs& inputs, std::int64_t bands);
// `gate` (1, T, C): input = gate · v.
std::shared_ptr<const ImpliedMap> implied_map(const RecurrenceInputs& inputs, const at::Tensor& gate,
                                              std::int64_t bands);
// `before` and `after` (1, T, C) multiply input and output of the convolution, or are undefined; one of them is defined
// or `length` says T. weight (C, K).
std::shared_ptr<const ImpliedMap> implied_map_of_convolution(const at::Tensor& before, const at::Tensor& after,
                                                             const at::Tensor& weight, std::int64_t bands,
                                                             std::int64_t length = 0);

}  // namespace locus::mixers
