// RePo: every layer computes from its own input where each token stands, one number a head, and rotates by it.
#pragma once

#include <cstdint>

#include "core/position/shared/layer_parameter.h"
#include "core/position/shared/with_options.h"

namespace locus::position {

enum class PlaceForm {
  kGated,   // W_f(SiLU(W_g x) ⊙ W_c x), a number a head
  kLinear,  // W x, a number a head
  kShared   // w·x, one number for all heads
};

struct RepoOptions : TableOptions<RepoOptions> {
  PlaceForm form = PlaceForm::kGated;
  std::int64_t inner = 0;  // I, rows of W_g and W_c; 0: an eighth of the channels
  double base = 10000.0;

  static const OptionTable<RepoOptions> kTable;
  Status check() const;
};

// z_t = W_f(SiLU(W_g x_t) ⊙ W_c x_t) ∈ R^H,  logit_ij = ⟨R(z_i) q_i, R(z_j) k_j⟩/√D
//
// R(z) turns pair (m, m + D/2) by z·θ_m, θ_m = base^(−2m/D). Causal order stays that of the tokens, and their ids change
// nothing. Where queries share a key, Prepared::key has one for each query head. prepare() keeps z (B, H, T, 1) as Prepared::gate_query, and requires Projections::hidden.
class Repo final : public WithOptions<Repo, RepoOptions> {
 public:
  static const Description& about();
  // kBadInput for an odd head width.
  static Status settle(const RepoOptions& options, const ModelShape& shape);

  // The maps start uniform in ±1/√inputs.
  Repo(const ModelShape& shape, const RepoOptions& options);

  std::vector<Parameter> parameters() override { return parameters_of({&gate_, &content_, &final_, &map_}); }
  bool is_linear() const override { return false; }
  double macs(std::int64_t layer, std::int64_t length) const override;
  Prepared prepare(const State& state, std::int64_t layer, const Projections& projections) const override;
  at::Tensor learned_positions(const Prepared& prepared) const override { return prepared.gate_query; }
  Prepared placed(const Prepared& prepared, const at::Tensor& positions) const override;

 private:
  // (B, H, T) z of the layer's input (B, T, C).
  at::Tensor places(const at::Tensor& hidden, std::int64_t layer) const;

  LayerParameter gate_;     // (I, C) W_g, one per layer
  LayerParameter content_;  // (I, C) W_c
  LayerParameter final_;    // (H, I) W_f
  LayerParameter map_;      // (H, C) W, or (1, C); linear and shared
};

}  // namespace locus::position
