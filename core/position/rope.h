// Rotary position embedding: q and k turned by their position, so that their product depends on i − j.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/position/shared/pair_form.h"
#include "core/position/shared/rope_scaling.h"
#include "core/position/shared/rotation.h"
#include "core/position/shared/with_options.h"

namespace locus::position {

// How the pairs are dealt to the three components (time, row, column) of a position:
//   kChunked      the first pairs to the first component, and so on (M-RoPE)
//   kInterleaved  pair m to component m mod 3 while that one's section lasts, then to time (MRoPE-I)
//   kAlternating  pairs 1, 3, … below 2·sections[1] to rows, 2, 4, … below 2·sections[2] to columns, the others, which
//                 are the slow ones and pair 0, to time (VideoRoPE, HoPE)
//   kDistributed  t t h w h w h w in every eight pairs, and in what remains of eight (MM-RoPE); sections count the pairs
//                 that this gives
enum class SectionLayout { kChunked, kInterleaved, kAlternating, kDistributed };

struct RopeOptions {
  PairLayout layout = PairLayout::kHalf;
  double fraction = 1.0;  // of the D channels that turn, the first ones (GPT-NeoX `rotary_pct`)
  double base = 10000.0;
  RopeScaling scaling;
  // M-RoPE: a position is a vector, and each pair turns with one of its components. How many pairs have each; empty:
  // positions are numbers.
  std::vector<double> sections;
  SectionLayout section_layout = SectionLayout::kChunked;
  // q and k become w ⊙ x/√(mean x² + norm_eps) behind the rotation, each with a w (D) of each layer (HunYuan).
  bool norm = false;
  double norm_eps = 1e-6;

  // Errors: kBadInput naming option, expected and found.
  static Result<RopeOptions> from(const Settings& settings);
  Settings settings() const;
  static std::vector<OptionDescription> described();

  // The even number of channels of a head of `head_width` that turn. Errors: kBadInput when odd, 0 or more than the
  // head, or when the scaling cannot work with it.
  Result<std::int64_t> rotated_width(std::int64_t head_width, std::int64_t trained_length) const;
  // The component of a position that each of these pairs turns with; 0 without sections.
  std::vector<std::int64_t> components(std::int64_t pairs) const;
  // cos and sin for these positions, (T) or (T, components), turning `width` channels: (T, width/2).
  Rotation rotation_at(const at::Tensor& ids, std::int64_t width, std::int64_t trained_length) const;
};

// logit_ij = ⟨R_i q_i, R_j k_j⟩/√D, R_i turns pair m by the angle i·θ_m, θ_m = base^(−2m/D).
class Rope final : public WithOptions<Rope, RopeOptions>, public Paired {
 public:
  static const Description& about();
  static Result<std::unique_ptr<PositionEncoding>> make(const Settings& options, const ModelShape& shape);

  Rope(const ModelShape& shape, RopeOptions options, std::int64_t width);

  std::vector<Parameter> parameters() override;

  // With sections: those of a sequence, whose components are all equal, or vectors of as many components.
  Status accepts(const Positions& positions) const override;
  // table: (2, T, M) float64 cos and sin.
  State begin(const Positions& positions, std::int64_t batch) const override;
  Prepared prepare(const State& state, std::int64_t layer, const Projections& projections) const override;
  at::Tensor vectors(const State& state, std::int64_t layer) const override;
  Result<PairForm> pair_form(const Prepared& prepared, std::int64_t layer) const override;
  bool is_linear() const override { return !options_.norm; }
  // Turns q and k back, as the content of what prepare() made of them. Errors: kUnsupported behind a norm.
  Status restore_content(const State& state, Prepared& prepared) const;

 private:
  at::Tensor normed(const at::Tensor& x, const at::Tensor& weight) const;

  std::int64_t width_;                             // 2M
  std::vector<at::Tensor> query_norm_, key_norm_;  // (D) of each layer; empty without norm
};

}  // namespace locus::position
