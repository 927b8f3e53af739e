// Contextualised equivariant position encoding (TAPE): a state per token, head and block that starts as RoPE and that
// every layer renews from the text. Zhu et al. 2025, arXiv:2501.00712.
//
// Two forms:
//   model  the authors' Llama-shaped model (`rpe_type: adape`), which published checkpoints use:
//            attention     e += s_h·ẽ,  ẽ = A e, s_h = Σ_c post_attention_linear[h, c]
//            feed-forward  e += down_proj( silu(x_proj y) ⊙ up_proj e ), y the feed-forward's output before its
//            residual
//          with one soft-max a head; e is never normalised
//   paper  Eq. 6–8:  e += W2 ψ(x̃) W1ᵀ ẽ, ψ the diagonal of a two-layer MLP of x̃, the features after the attention
//          with one soft-max a block
// The soft-max of ẽ, what the weights mix, the start and which of the two updates run are options of either form.
#pragma once

#include <memory>
#include <vector>

#include "core/position/shared/fourier_features.h"
#include "core/position/shared/pair_form.h"
#include "core/position/shared/rope_scaling.h"
#include "core/position/shared/with_options.h"
#include "core/position/tape/state.h"
#include "core/position/tape/update.h"

namespace locus::position {

enum class TapeForm { kModel, kPaper };
enum class TapeSoftmax { kHead, kBlock };
enum class TapeStart { kRope, kFourier };
// TAPE Table 6. The paper's form with the attention alone adds ẽ as it is, and so is no RoPE even when new.
enum class TapeUpdates { kBoth, kAttention, kFeedForward };

struct TapeOptions {
  TapeForm form = TapeForm::kModel;
  TapeSoftmax softmax = TapeSoftmax::kHead;  // paper: block
  TapeMixing mixing = TapeMixing::kShared;
  TapeUpdates updates = TapeUpdates::kBoth;
  std::int64_t position_size = 0;  // I; 0: 4H
  std::int64_t gate_width = 0;     // paper: hidden units of ψ; 0: C
  bool scaled = true;              // logits ÷ √D; Eq. 6 as printed has no divisor

  TapeStart start = TapeStart::kRope;
  PairLayout layout = PairLayout::kHalf;
  double base = 10000.0;
  RopeScaling scaling;
  std::int64_t rows = 2;     // L
  std::int64_t columns = 2;  // R
  double bandwidth = 1.0;    // fourier: standard deviation of θ
  bool reweighted = true;    // fourier: Gaussian coefficients w instead of 1
  std::int64_t seed = 0;     // fourier

  // Errors: kBadInput naming option, expected and found.
  static Result<TapeOptions> from(const Settings& settings);
  Settings settings() const;
  static std::vector<OptionDescription> described();

  // How a head of this width meets the state. Errors: kBadInput for a width, L and R that do not fit each other or the
  // start, and for a mixing this form or shape does not have.
  Result<TapeBlocks> blocks(const ModelShape& shape) const;
};

class Tape final : public WithOptions<Tape, TapeOptions>, public Paired {
 public:
  static const Description& about();
  static Result<std::unique_ptr<PositionEncoding>> make(const Settings& options, const ModelShape& shape);

  Tape(const ModelShape& shape, TapeOptions options, const TapeBlocks& blocks, FourierFeatures fourier);

  const TapeBlocks& blocks() const { return blocks_; }
  // model: layers.N.post_attention_linear (H, H), layers.N.pe.up_proj (I, F), .x_proj (I, C), .down_proj (F, I), where
  // F follows the mixing; paper: layers.N.pe.w1, .w2 (F, I) and layers.N.pe.psi.{w1, b1, w2, b2}. up_proj, w2 and
  // post_attention_linear start at zero, so that a new TAPE is RoPE.
  std::vector<Parameter> parameters() override;

  // table: e (B, H, T, M, L, R), the state that enters the first layer.
  State begin(const Positions& positions, std::int64_t batch) const override;
  Prepared prepare(const State& state, std::int64_t layer, const Projections& projections) const override;
  double scale() const override;
  double macs(std::int64_t layer, std::int64_t length) const override;
  // e of every token, flattened: (B, H, T, M·L·R).
  at::Tensor state_values(const State& state, std::int64_t layer) const override;
  void after_attention(State& state, std::int64_t layer, const Attended& attended) const override;
  void after_feed_forward(State& state, std::int64_t layer, const at::Tensor& output) const override;
  // (H, T, M·L·R): ⟨e_i, e_j⟩ = Σ over M, L and R; from a RoPE start Σ cos·cos + sin·sin over all D channels.
  at::Tensor vectors(const State& state, std::int64_t layer) const override;

  // The d at which Σ_m ‖e_im e_jmᵀ − R(d·θ_m)‖² is least, R(φ) = [[cos φ, sin φ], [−sin φ, cos φ]], in steps of an eighth
  // up to the farthest id to both sides: what RoPE would call as far. In the first layer i − j. kUnsupported unless the
  // state began as RoPE's and has blocks of 2 × 2, kTooLarge for ids farther apart than 2¹⁷.
  Result<at::Tensor> distances(const State& state, const Prepared& prepared, const Tile& tile) const override;

  // A pair is a block of the state; from a RoPE start of 2 × 2 blocks it turned a plane once.
  Result<PairForm> pair_form(const Prepared& prepared, std::int64_t layer) const override;

  // ẽ of Eq. 7 for the rows of `attended`, as this encoding's soft-max makes it: (B, H, R, M, L, R).
  at::Tensor contextualised(const Attended& attended) const;
  // ê of one layer: the mixing of `e` by these gates (B, T, I).
  at::Tensor mixed(std::int64_t layer, const at::Tensor& e, const at::Tensor& gate) const;
  // The gates: silu(x_proj y) of the feed-forward's output, or ψ(x̃). (B, T, C) -> (B, T, I).
  at::Tensor gates(std::int64_t layer, const at::Tensor& features) const;

 private:
  struct Layer {
    at::Tensor post_attention;    // model
    at::Tensor up, x_proj, down;  // model
    at::Tensor w1, w2;            // paper
    at::Tensor psi_w1, psi_b1, psi_w2, psi_b2;
  };

  bool attends() const { return options_.updates != TapeUpdates::kFeedForward; }
  bool mixes() const { return options_.updates != TapeUpdates::kAttention; }
  void initialise();

  TapeBlocks blocks_;
  FourierFeatures fourier_;
  std::vector<Layer> layers_;
};

}  // namespace locus::position
