// PaTH: every token turns the keys before it by a Householder-like reflection that its content chooses.
#pragma once

#include <cstdint>
#include <vector>

#include "core/position/shared/layer_parameter.h"
#include "core/position/shared/transforming.h"
#include "core/position/shared/with_options.h"

namespace locus::position {

struct PathOptions : TableOptions<PathOptions> {
  std::int64_t rank = 32;  // r of w = W₂W₁x; 0: one matrix
  std::int64_t taps = 3;   // tokens of the convolution of W₂W₁x, behind which is a SiLU; 0: neither
  bool gates = false;      // PaTH-FoX
  double bias = 0;         // what the gates' bias starts at

  static const OptionTable<PathOptions> kTable;
  Status check() const;
};

// logit_ij = q_iᵀ H_i H_{i−1} … H_{j+1} k_j/√D,  H_t = I − β_t w_t w_tᵀ
//
// w_t (D) of unit length and β_t = 2σ(u·x_t + b) in (0, 2), of each key head: the query's own H counts, the key's does
// not. β = 1 erases what the key has along w, 2 mirrors it. w = unit(SiLU(conv(W₂W₁x))), the convolution causal and of
// each channel by itself. With gates, D_ij of FoX is added within the scale: (qᵀ…k + D_ij)/√D, whose logarithms are
// kept times 1/√D, so that the gates are those that act.
//
// prepare() keeps (B, Hkv, T, D + 1) W₂W₁x and u·x + b as Prepared::gate_key, which later tokens continue, with gates
// (B, H, T, 1) ln f/√D as gate_query, and requires Projections::hidden. score() carries the queries of a tile from the
// diagonal leftwards, 64 keys at a time: within them, with X the carried queries (R, D), W (64, D) and β,
//   (I + triu₁(β ⊙ WWᵀ)) U = β ⊙ WXᵀ,   logits = XKᵀ − Uᵀ tril₋₁(WKᵀ),   X ← X − UᵀW
// where row t of U counts for queries i ≥ t alone: O(T²·D) time, and no P of D × D.
class Path final : public WithOptions<Path, PathOptions>, public Transforming {
 public:
  static const Description& about();
  // kBadInput where the model is not causal.
  static Status settle(const PathOptions& options, const ModelShape& shape);

  // Matrices and the convolution start normal with deviation 0.02, the biases at 0 and at the option `bias`.
  Path(const ModelShape& shape, const PathOptions& options);

  const Description& description() const override;
  std::vector<Parameter> parameters() override;
  bool is_linear() const override { return false; }
  bool is_dot_product() const override { return false; }
  bool needs_carry() const override { return true; }
  const Transforming* transforming() const override { return this; }
  at::Tensor log_gates(const Prepared& prepared) const override;
  double macs(std::int64_t layer, std::int64_t length) const override;
  Prepared prepare(const State& state, std::int64_t layer, const Projections& projections) const override;
  TileScores score(const Prepared& prepared, const Tile& tile, const Wanted& wanted,
                   const at::Tensor& carry) const override;

  // (B, h, n, D) w and (B, h, n) β of these tokens, of each query head's key head, or given for that query head.
  struct Reflections {
    at::Tensor direction;
    at::Tensor strength;
  };
  Reflections reflections(const Prepared& prepared, std::int64_t layer, Range heads, Range tokens) const;
  at::Tensor strengths(const Prepared& prepared) const override;
  at::Tensor mean_direction(const Prepared& prepared, std::int64_t layer, Range heads) const override;
  at::Tensor deviation(const Prepared& prepared, const Tile& tile) const override;
  at::Tensor carried(const Prepared& prepared, const Tile& tile) const override;
  TransformSteps steps(const Prepared& prepared, std::int64_t layer, std::int64_t head, std::int64_t query,
                       std::int64_t key, const StopToken& stop = {}) const override;

 private:
  LayerParameter down_;         // (r, C) W₁, one per layer
  LayerParameter up_;           // (Hkv·D, r) W₂; without a rank (Hkv·D, C)
  LayerParameter convolution_;  // (Hkv·D, taps)
  LayerParameter beta_;         // (Hkv, C) u
  LayerParameter beta_bias_;    // (Hkv) b
  LayerParameter gate_;         // (H, C), with gates
  LayerParameter gate_bias_;    // (H)
};

}  // namespace locus::position
