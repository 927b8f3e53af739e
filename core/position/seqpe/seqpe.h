// SeqPE: positions read as digit strings by a small transformer, whose output joins q and k. Li et al. 2025,
// arXiv:2506.13277.
//
// E = encoder(positions) (T, d); [e^q, e^k] = pe_qk(E), (T, 2, H, D). Then, all ÷ √D:
//   sum    (q + e^q)·(k + e^k)            Eq. 12
//   mul    (q ⊙ e^q)·(k ⊙ e^k)            Eq. 13
//   bias   q·k + s·e^q·e^k                Eq. 14, as one product of (q, s·e^q) and (k, e^k)
//   input  E is added to the token embeddings instead
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "core/position/seqpe/encoder.h"
#include "core/position/seqpe/losses.h"
#include "core/position/shared/row_form.h"
#include "core/position/shared/with_options.h"

namespace locus::position {

enum class SeqpeIntegration { kSum, kMul, kBias, kInput };
enum class SeqpeProjection { kSingle, kMulti, kNone };

// How SeqPE is trained beside its task (§3.3, §3.4, App. A.5).
struct SeqpeTraining {
  double distance_loss = 0.1;    // α, of L_δ
  double transfer_loss = 0.1;    // β, of L_OOD
  double shift = 0.1;            // share of the training sequences that start at a random position
  std::int64_t longest = 0;      // L_max a dimension; 0: 20000, or b^k where that is less
  std::int64_t loss_batch = 32;  // pivots of L_δ, groups of L_OOD
  std::int64_t candidates = 32;  // m of both
};

struct SeqpeOptions {
  SeqpeIntegration integration = SeqpeIntegration::kBias;
  SeqpeProjection projection = SeqpeProjection::kSingle;
  bool single_head = false;  // E has D channels, the same for every head; otherwise H·D
  double bias_scale = 1.0;   // s
  bool class_token = false;  // tokens without position have cls_token_pos_embed; default for images
  SeqpeEncoderOptions encoder;
  SeqpeTraining training;

  // Errors: kBadInput naming option, expected and found.
  static Result<SeqpeOptions> from(const Settings& settings, const ModelShape& shape);
  Settings settings() const;
  static std::vector<OptionDescription> described();
};

class Seqpe final : public WithOptions<Seqpe, SeqpeOptions>, public RowFormed {
 public:
  static const Description& about();
  static Result<std::unique_ptr<PositionEncoding>> make(const Settings& options, const ModelShape& shape);

  Seqpe(const ModelShape& shape, const SeqpeOptions& options);

  double macs(std::int64_t layer, std::int64_t length) const override;
  const SeqpeEncoder& encoder() const { return encoder_; }
  // encoder.*, cls_token_pos_embed (1, 1, d), pe_qk.{weight (2d, d), bias} or layers.N.pe_qk.{weight, bias}.
  std::vector<Parameter> parameters() override;

  // kBadInput for a wrong number of dimensions, a position that is negative, not whole, or has too many digits, and
  // for tokens without position where there is no cls_token_pos_embed.
  Status accepts(const Positions& positions) const override;
  // App. A.5: a share of the sequences, each moved by its own random z a dimension.
  Result<std::vector<TrainingPositions>> training_positions(const Positions& natural, Range sequences,
                                                            std::uint64_t seed) const override;
  // α·L_δ + β·L_OOD (Eq. 15, its KL summed over rows as printed); undefined when both weights are 0.
  at::Tensor training_loss(std::uint64_t seed) const override;
  // The part that all e^k share adds (q + e^q)·c or s·e^q·c to a whole row: it leaves the bias of pe_qk. Adam lets it drift, as
  // its gradient is rounding alone.
  void drop_unseen(const Positions& positions) override;
  // table: E (T, d). Without gradients the tables of the last few lengths are kept, keyed by positions and weights.
  State begin(const Positions& positions, std::int64_t batch) const override;
  at::Tensor embed(const State& state) const override;
  Prepared prepare(const State& state, std::int64_t layer, const Projections& projections) const override;
  // Content is q·k/√D. Of "sum" the four terms qk, qe, ek and ee on request; "input" has no content.
  TileScores score(const Prepared& prepared, const Tile& tile, const Wanted& wanted = {},
                   const at::Tensor& carry = {}) const override;
  std::optional<RowForm> row_form(const Prepared& prepared, std::int64_t layer) const override;
  // (1, T, d): E itself, whose dot products Fig. 2 and 3 show.
  at::Tensor vectors(const State& state, std::int64_t layer) const override;

 private:
  struct Projection {
    at::Tensor weight;
    at::Tensor bias;
  };
  // A table and everything it was made from.
  struct Table {
    at::Tensor ids;
    std::vector<at::Tensor> weights;
    std::vector<std::int64_t> versions;
    at::Tensor values;
  };

  SeqpeSampling sampling() const;
  // The same tokens, moved by a z of every dimension that is drawn from `random`.
  Positions at_random_start(const Positions& natural, std::mt19937_64& random) const;
  // The trained length, a dimension.
  std::int64_t trained_side() const;
  at::Tensor encode(const Positions& positions) const;
  at::Tensor cached(const Positions& positions) const;
  // e^q and e^k of one layer, (1, H or 1, T, D) each.
  std::pair<at::Tensor, at::Tensor> projected(const State& state, std::int64_t layer) const;

  SeqpeEncoder encoder_;
  at::Tensor class_position_;            // (1, 1, d); undefined without class_token
  std::vector<Projection> projections_;  // one, one per layer, or none
  mutable std::mutex mutex_;
  mutable std::deque<Table> tables_;
};

}  // namespace locus::position
