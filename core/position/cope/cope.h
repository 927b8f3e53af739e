// CoPE: contextual position encoding. A gate decides which keys count; a key's position is the number of counted keys
// from it to the query, and a query asks for positions by interpolating trained vectors.
//
// Letters: g_ij gate, p_ij position, e the position vectors, c_ij = q_i·k_j/√D.
#pragma once

#include <memory>
#include <string>

#include "core/position/cope/tile.h"
#include "core/position/rope.h"
#include "core/position/shared/layer_parameter.h"
#include "core/position/shared/row_form.h"
#include "core/position/shared/with_options.h"

namespace locus::position {

struct CopeOptions {
  std::string gates = "key";         // key, sep-key (own projection of the layer's input), value
  std::string form = "interpolate";  // interpolate (Eq. 8), mlp (CoPE_MLP), alibi (CoPE_ALiBi, Eq. 10)
  std::string with = "none";         // none, relative (adds Shaw's term), rope (c from rotated q and k)
  std::int64_t p_max = 64;           // largest position (interpolate): positions 0 … p_max have vectors
  bool scale_positions = false;      // divide q·e[p] by √D too, as the published repository's default does
  bool per_layer = false;            // every layer has its own e (or network)
  std::int64_t every = 1;            // CoPE in layers 0, every, 2·every …; the others have `with` alone
  bool rotate_gates = false;         // with rope: gates from the rotated q and k
  std::int64_t hidden = 64;          // units of CoPE_MLP
  std::string slopes = "halving";    // alibi: halving (first_slope·2^−h), alibi (ALiBi's), learned (from 0)
  double first_slope = 1.0;          // alibi, halving: m of head 0
  std::int64_t relative_length = 0;  // with relative: distances with a vector; 0: the trained length
  bool gate_bias = false;            // sep-key: the gate keys' projection has a bias
  bool hard_attention = false;       // attend to the largest logit alone; evaluation only
  RopeOptions rope;                  // with rope

  // Errors: kBadInput naming option, expected and found.
  static Result<CopeOptions> from(const Settings& settings);
  Settings settings() const;
};

// g_ij = σ(q_i·k_j/√D) for j ≤ i, else 0             (Eq. 3; gates from keys, own keys or values)
// p_ij = min(Σ_{k=j..i} g_ik, p_max)                  (Eq. 4; the query itself counts)
// z_i[p] = q_i·e[p], z_ij interpolates it at p_ij     (Eq. 7, 8; never e[p_ij] itself)
// logit_ij = c_ij + z_ij                              (Listing 1)
//   mlp:    z_ij = q_i·MLP(p_ij), 1 → hidden → D, ReLU, p not limited
//   alibi:  z_ij = m_h·p_ij, p not limited (as printed: a positive m favours far keys)
//
// Sums run from right to left: the carry of a tile is the gate sum of its columns and all columns to their right.
class Cope final : public WithOptions<Cope, CopeOptions>, public RowFormed {
 public:
  static const Description& about();
  static Result<std::unique_ptr<PositionEncoding>> make(const Settings& options, const ModelShape& shape);

  // e, the Shaw vectors and learned slopes start at 0; the gate projection, its bias and the network uniform in
  // ±1/√inputs.
  Cope(const ModelShape& shape, CopeOptions options, std::int64_t rotated_width);

  const Description& description() const override { return description_; }
  std::vector<Parameter> parameters() override {
    return parameters_of({&embedding_, &relative_, &gate_key_, &gate_bias_, &slopes_, &hidden_weight_, &hidden_bias_,
                          &output_weight_, &output_bias_});
  }
  // Whether `layer` has gates and positions.
  bool counts(std::int64_t layer) const { return layer % options_.every == 0; }

  State begin(const Positions& positions, std::int64_t batch) const override;
  Prepared prepare(const State& state, std::int64_t layer, const Projections& projections) const override;
  TileScores score(const Prepared& prepared, const Tile& tile, const Wanted& wanted,
                   const at::Tensor& carry) const override;
  bool needs_carry() const override { return true; }
  // Gates whose products are not the logits' own, what a query's positions turn into, and Shaw's vectors.
  double macs(std::int64_t layer, std::int64_t length) const override;
  bool is_dot_product() const override { return false; }
  std::optional<RowForm> row_form(const Prepared& prepared, std::int64_t layer) const override;
  bool hard_attention() const override { return options_.hard_attention; }
  at::Tensor vectors(const State& state, std::int64_t layer) const override;
  // p_ij, clamped; kUnsupported for layers that count nothing.
  Result<at::Tensor> distances(const State& state, const Prepared& prepared, const Tile& tile) const override;

 private:
  at::Tensor gate_logits(const Prepared& prepared, const Tile& tile) const;
  // (B, h, R) the gates of all visible columns right of the tile.
  at::Tensor carry_into(const Prepared& prepared, const Tile& tile) const;
  // Sets what positions turn into: the table z, the network or the slopes.
  void fill(CopeTile& work, const Tile& tile) const;

  std::int64_t rotated_width_;  // with rope
  Description description_;
  LayerParameter embedding_;      // (D, p_max + 1)
  LayerParameter relative_;       // (relative_length, D)
  LayerParameter gate_key_;       // (Hkv·D, C), one per layer
  LayerParameter gate_bias_;      // (Hkv·D), one per layer; empty without gate_bias
  LayerParameter slopes_;         // (H) learned, one per layer
  LayerParameter hidden_weight_;  // (hidden, 1)
  LayerParameter hidden_bias_;    // (hidden)
  LayerParameter output_weight_;  // (D, hidden)
  LayerParameter output_bias_;    // (D)
  at::Tensor fixed_slopes_;       // (H) float64
};

}  // namespace locus::position
