// GRAPE: positions as a group of transformations with learned generators: RoPE's rotation with learned frequencies, a
// clock that the text drives, distances that weigh as much as queries and keys say, or gates of pairs of tokens.
#pragma once

#include <cstdint>
#include <memory>

#include "core/position/shared/layer_parameter.h"
#include "core/position/shared/pair_form.h"
#include "core/position/shared/with_options.h"

namespace locus::position {

struct GrapeOptions : TableOptions<GrapeOptions> {
  enum class Form { kMultiplicative, kContextual, kAdditive, kPath };
  enum class Gated { kKey, kQuery, kBoth };

  Form form = Form::kMultiplicative;  // "multiplicative", "contextual", "additive", "path"
  double base = 10000.0;              // what the frequencies start as
  double scale = 16.0;                // s
  bool per_head = false;              // contextual: a clock of each head
  Gated gated = Gated::kKey;          // additive: "key", "query", "both"
  std::int64_t width = 0;             // path: d; 0: D
  // The first two forms: q and k become w ⊙ x/√(mean x² + norm_eps) behind the rotation, each with a w (D) of each layer.
  bool norm = false;
  double norm_eps = 1e-5;

  static const OptionTable<GrapeOptions> kTable;
};

// multiplicative  ⟨R(i) q_i, R(j) k_j⟩/√D, R(p) turns pair (m, m + D/2) by −p·θ_m, θ = e^{f/s}, f (D/2) trained
// contextual      the same with Φ_t = Σ_{τ<t} σ((w·x_τ + b)/s) for p, and θ = e^f
// additive        q_i·k_j/√D − (i − j)·m_h·ln(1 + e^{ω_h})·(g(v̂_h·q_i/√D) + g(û_h·k_j/√D)), g(x) = ln(1 + e^x), m_h ALiBi's
//                 slopes, û and v̂ of length 1; the query's term, the key's or both
// path            q_i·k_j/√D + Σ_{l=j+1..i} m_h·ln σ(p_i·R(l) p̂_l/d), p = W x (d a head), p̂ = p/√(mean p²), R(l) turns every
//                 pair by −l
//
// As in the authors' code all pairs turn backwards. prepare() requires Projections::hidden in the second and the last
// form, and keeps, with G query heads to a key head:
//   contextual  gate_query (B, H, T, 1) the token's step of the clock; with `norm`, query and key without their w, which
//               score() multiplies what it turned by
//   additive    gate_query (B, H, T, 1) the query's term with its factor, gate_key (B, Hkv, T, G) the keys'; none that
//               is not there
//   path        gate_query (B, H, T, d) p, gate_key (B, Hkv, T, G·d) p̂, which score() turns
class Grape final : public WithOptions<Grape, GrapeOptions>, public Paired {
 public:
  using Form = GrapeOptions::Form;
  using Gated = GrapeOptions::Gated;

  static const Description& about();
  // kBadInput for an odd width, where the model is not causal in all forms but the first, and for `norm` in the last two.
  static Status settle(const GrapeOptions& options, const ModelShape& shape);

  // f starts as RoPE's, the clock at equal steps, u and v normal with deviation 1/√D, ω at ln(e − 1), W uniform in ±1/√C,
  // the weights of norms at 1.
  Grape(const ModelShape& shape, const GrapeOptions& options);

  const Description& description() const override;
  std::vector<Parameter> parameters() override;
  bool is_linear() const override { return options_.form == Form::kMultiplicative && !options_.norm; }
  bool is_dot_product() const override { return options_.form == Form::kMultiplicative; }
  bool needs_carry() const override { return options_.form == Form::kPath; }
  bool follows_between() const override { return needs_carry() || options_.form == Form::kContextual; }
  double macs(std::int64_t layer, std::int64_t length) const override;
  Prepared prepare(const State& state, std::int64_t layer, const Projections& projections) const override;
  TileScores score(const Prepared& prepared, const Tile& tile, const Wanted& wanted,
                   const at::Tensor& carry) const override;
  // Φ of the contextual form.
  at::Tensor learned_positions(const Prepared& prepared) const override;
  // The steps of the clock between these.
  Prepared placed(const Prepared& prepared, const at::Tensor& positions) const override;
  at::Tensor vectors(const State& state, std::int64_t layer) const override;
  // Errors: kUnsupported for all forms but the first, and behind a norm.
  Result<PairForm> pair_form(const Prepared& prepared, std::int64_t layer) const override;
  // The last sizes of Prepared::gate_query and gate_key; 0: there is none.
  std::int64_t query_numbers() const;
  std::int64_t key_numbers() const;

 private:
  // (D/2) θ of a layer, float64.
  at::Tensor frequencies(std::int64_t layer) const;
  // x/√(mean x² + ε), and x times the weights of a layer's norm; x itself without norms.
  at::Tensor of_one_size(const at::Tensor& x) const;
  at::Tensor weighted(const at::Tensor& x, const LayerParameter& weights, std::int64_t layer) const;
  // (B, h, R, K) each.
  at::Tensor clocked(const Prepared& prepared, const Tile& tile) const;
  at::Tensor distance_bias(const Prepared& prepared, const Tile& tile) const;
  at::Tensor path_bias(const Prepared& prepared, const Tile& tile, const at::Tensor& carry, TileScores& scores) const;

  at::Tensor slopes_;               // (H) m
  std::int64_t path_width_ = 0;     // d
  LayerParameter log_frequencies_;  // (D/2) f, one per layer
  LayerParameter clock_;            // (1, C) w, or (H, C)
  LayerParameter clock_bias_;       // (1) b, or (H)
  LayerParameter rate_;             // (H) ω
  LayerParameter key_direction_;    // (H, D) u
  LayerParameter query_direction_;  // (H, D) v
  LayerParameter path_;             // (H·d, C) W
  LayerParameter query_norm_;       // (D) w of the queries
  LayerParameter key_norm_;         // (D) w of the keys
};

}  // namespace locus::position
