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
//   kHeads        sections count key heads: all pairs of the first ones to time, and so on; those of key heads left over
//                 do not turn, words too. A query head follows its key head (MHRoPE)
enum class SectionLayout { kChunked, kInterleaved, kAlternating, kDistributed, kHeads };

struct RopeOptions {
  PairLayout layout = PairLayout::kHalf;
  double fraction = 1.0;  // of the D channels that turn, the first ones (GPT-NeoX `rotary_pct`)
  double base = 10000.0;
  RopeScaling scaling;
  // M-RoPE: a position is a vector, and each pair turns with one of its components. How many pairs (kHeads: key heads)
  // have each; empty: positions are numbers.
  std::vector<double> sections;
  SectionLayout section_layout = SectionLayout::kChunked;
  // q and k become w ⊙ x/√(mean x² + norm_eps) behind the rotation, each with a w (D) of each layer (HunYuan).
  bool norm = false;
  double norm_eps = 1e-6;

  // Errors: kBadInput naming option, expected and found.
  static Result<RopeOptions> from(const Settings& settings);
  Settings settings() const;
  static std::vector<OptionDescription> described();

  // Whether all pairs of a head turn with one component, its own.
  bool by_heads() const { return !sections.empty() && section_layout == SectionLayout::kHeads; }
  // The even number of channels of a head that turn. Errors: kBadInput when odd, 0 or more than the head, or when the
  // sections or the scaling cannot work with it.
  Result<std::int64_t> rotated_width(const ModelShape& shape) const;
  // The component of a position that each of these pairs turns with, 0 without sections; by_heads(), each of these key
  // heads, −1 where it does not turn.
  std::vector<std::int64_t> components(std::int64_t count) const;
  // cos and sin for these positions, (T) or (T, components), turning `width` channels: (T, width/2); by_heads(), (Hkv, T,
  // width/2).
  Rotation rotation_at(const at::Tensor& ids, std::int64_t width, const ModelShape& shape) const;
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
  // table: (2, T, M) float64 cos and sin, or (2, Hkv, T, M) where heads have components of their own.
  State begin(const Positions& positions, std::int64_t batch) const override;
  Prepared prepare(const State& state, std::int64_t layer, const Projections& projections) const override;
  at::Tensor vectors(const State& state, std::int64_t layer) const override;
  Result<PairForm> pair_form(const Prepared& prepared, std::int64_t layer) const override;
  bool is_linear() const override { return !options_.norm; }
  // Turns q and k back, as the content of what prepare() made of them. Errors: kUnsupported behind a norm.
  Status restore_content(const State& state, Prepared& prepared) const;

 private:
  at::Tensor normed(const at::Tensor& x, const at::Tensor& weight) const;
  // Gives each head's pairs in positions of so many dimensions their component, or none.
  void turn_by_heads(std::int64_t dimensions, PairForm& form) const;

  std::int64_t width_;                             // 2M
  std::vector<at::Tensor> query_norm_, key_norm_;  // (D) of each layer; empty without norm
};

}  // namespace locus::position
