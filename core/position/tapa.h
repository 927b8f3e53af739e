// TAPA: part of q and k gives the amplitude of the score, the rest the phase of a cosine whose angle grows with
// distance.
#pragma once

#include <memory>

#include "core/position/shared/layer_parameter.h"
#include "core/position/shared/pair_form.h"
#include "core/position/shared/with_options.h"

namespace locus::position {

struct TapaOptions : TableOptions<TapaOptions> {
  enum class Phase { kQuadratic, kLinear, kGeneral };

  double alpha = 0.1;               // the angle grows with |i − j|^α
  double theta = 0.5;               // part of the channels that make the amplitude, the first ones; θ·D must be whole
  Phase phase = Phase::kQuadratic;  // option `phase`: "quadratic", "linear" (Eq. 16) or "general" (Eq. 9, 10)

  static const OptionTable<TapaOptions> kTable;
  Status check() const;
};

// (n) distances -> |Δ|^α in float64, with |0|^α = 0 for every α.
at::Tensor tapa_distance(const at::Tensor& distances, double alpha);

// logit_ij = (q_A·k_A)/√(θD) · cos(2π·|i − j|^α · φ_ij)   (Eq. 12), without a further 1/√D
//   quadratic  φ = (q_P·k_P)/√((1−θ)D)
//   linear     φ = (Σ q_P + Σ k_P)/√((1−θ)D)
//   general    logit_ij = qᵀℳk · cos(2π·|i − j|^α · qᵀ𝒩k)   (Eq. 9, 10), ℳ and 𝒩 trained, D × D a head and layer;
//              they begin as Eq. 13's, with which it is the quadratic one
class Tapa final : public WithOptions<Tapa, TapaOptions>, public Paired {
 public:
  static const Description& about();
  static Result<std::unique_ptr<PositionEncoding>> make(const Settings& options, const ModelShape& shape);

  Tapa(const ModelShape& shape, const TapaOptions& options, std::int64_t amplitude_width);

  std::vector<Parameter> parameters() override { return parameters_of({&amplitude_matrix_, &phase_matrix_}); }
  bool is_dot_product() const override { return false; }
  TileScores score(const Prepared& prepared, const Tile& tile, const Wanted& wanted,
                   const at::Tensor& carry) const override;
  // |i − j|^α·φ_ij, the turns of the cosine.
  Result<at::Tensor> distances(const State& state, const Prepared& prepared, const Tile& tile) const override;
  // Amplitude and phase; of the general phase kUnsupported, whose matrices mix all channels.
  Result<PairForm> pair_form(const Prepared& prepared, std::int64_t layer) const override;

 private:
  at::Tensor amplitude(const at::Tensor& rows, const at::Tensor& columns, const Tile& tile) const;
  at::Tensor phase(const at::Tensor& rows, const at::Tensor& columns, const Tile& tile) const;

  std::int64_t amplitude_width_;     // θD
  LayerParameter amplitude_matrix_;  // (H, D, D) ℳ of Eq. 9; empty unless the phase is general
  LayerParameter phase_matrix_;      // (H, D, D) 𝒩 of Eq. 10, likewise
};

}  // namespace locus::position
